// Counts the entries that have a label, in parallel, for losses that divide by them.
#include "kernels/labelled_entries.h"

#include <atomic>
#include <cmath>

#include "base/parallel.h"

namespace gneiss::kernels {

std::int64_t labelled_entries(int threads, ConstMatrixView<float> targets, std::span<const NodeId> rows) {
  constexpr std::int64_t kGrain = 1024;
  std::atomic<std::int64_t> labelled = 0;
  parallel_chunks(threads, std::ssize(rows), kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t here = 0;
    for (const NodeId row : rows.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))) {
      const float* entries = targets.row(row);
      for (std::int64_t c = 0; c < targets.cols; ++c) here += !std::isnan(entries[c]);
    }
    labelled.fetch_add(here, std::memory_order_relaxed);
  });
  return labelled;
}

}  // namespace gneiss::kernels
