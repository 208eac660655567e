// Each task is open, through, or given back. When a task is through, the run of such tasks around it is given back if
// it is long enough or reaches a neighbour that is given back already, in whole huge pages.
#include "base/swept_rows.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/buffer.h"
#include "base/pages.h"

namespace gneiss {

SweptRows::SweptRows(std::vector<FileRows> files, std::span<const std::int64_t> cuts)
    : files_(std::move(files)), cuts_(cuts), states_(files_.empty() ? 0 : cuts.size() - 1, State::kOpen) {
  for (const FileRows& file : files_) row_bytes_ += file.row_bytes;
}

void SweptRows::start() { std::fill(states_.begin(), states_.end(), State::kOpen); }

void SweptRows::map(std::int64_t begin, std::int64_t end) const {
  for (const FileRows& file : files_)
    map_pages(file.data + begin * file.row_bytes, static_cast<std::size_t>((end - begin) * file.row_bytes),
              file.written);
}

void SweptRows::through(std::int64_t task) {
  if (files_.empty()) return;
  constexpr std::int64_t kAtOnce = std::int64_t{8} << 20;
  Run run;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    states_[static_cast<std::size_t>(task)] = State::kThrough;
    run = run_around(task);
    const bool grows = !run.with_page_before || !run.with_page_behind;
    if (grows && (row(run.last) - row(run.first)) * row_bytes_ < kAtOnce) return;
    std::fill(states_.begin() + run.first, states_.begin() + run.last, State::kGivenBack);
  }
  give_back(run);
}

SweptRows::Run SweptRows::run_around(std::int64_t task) const {
  const auto tasks = static_cast<std::int64_t>(states_.size());
  Run run{task, task + 1, true, true};
  while (run.first > 0 && state(run.first - 1) == State::kThrough) --run.first;
  while (run.last < tasks && state(run.last) == State::kThrough) ++run.last;
  run.with_page_before = run.first == 0 || state(run.first - 1) == State::kGivenBack;
  run.with_page_behind = run.last == tasks || state(run.last) == State::kGivenBack;
  return run;
}

void SweptRows::give_back(const Run& run) const {
  for (const FileRows& file : files_) {
    const auto address = [&](std::int64_t of_row) {
      return reinterpret_cast<std::uintptr_t>(file.data + of_row * file.row_bytes);
    };
    const auto page_of = [&](std::uintptr_t at, bool next) {
      return (at + (next ? kHugePage - 1 : 0)) / kHugePage * kHugePage;
    };
    const std::uintptr_t from = std::max(address(0), page_of(address(row(run.first)), !run.with_page_before));
    const std::uintptr_t to = std::min(address(cuts_.back()), page_of(address(row(run.last)), run.with_page_behind));
    if (from < to) give_back_tail(reinterpret_cast<std::byte*>(from), 0, to - from);
  }
}

}  // namespace gneiss
