// What every space does alike: looking at what is asked for, and counting it.
#include "pgas/space.h"

#include <chrono>
#include <cstring>

#include "base/error.h"

namespace gneiss::pgas {
namespace {

void expect_row(const SharedRows& rows, int device, std::int64_t row) {
  GNEISS_ASSERT(row >= 0 && row < rows.count, "device {} has no row {} of {}", device, row, rows.count);
}

}  // namespace

SharedRows Space::looked_up(Frame frame, int device) const {
  GNEISS_ASSERT(device >= 0 && device < devices(), "there is no device {} of {}", device, devices());
  return shown(frame, device);
}

SharedRows Space::rows_of(Frame frame, int device) const {
  GNEISS_ASSERT(device == this->device() || reads_in_place(), "rows of device {} lie in memory of another process",
                device);
  return looked_up(frame, device);
}

const std::byte* Space::row_address(Frame frame, int device, std::int64_t row) const {
  const SharedRows rows = rows_of(frame, device);
  expect_row(rows, device, row);
  return rows.first + row * rows.stride_bytes;
}

Token Space::get_rows(Frame frame, int device, std::span<const NodeId> rows, std::int64_t row_bytes, LocalRows to) {
  GNEISS_ASSERT(std::ssize(rows) == to.count, "{} rows are fetched into room for {}", rows.size(), to.count);
  const SharedRows from = looked_up(frame, device);
  for (const NodeId row : rows) expect_row(from, device, row);
  return counted({frame, device, from, rows, 0, row_bytes, to});
}

Token Space::get_range(Frame frame, int device, std::int64_t first, std::int64_t row_bytes, LocalRows to) {
  const SharedRows from = looked_up(frame, device);
  if (to.count > 0) {
    expect_row(from, device, first);
    expect_row(from, device, first + to.count - 1);
  }
  return counted({frame, device, from, {}, first, row_bytes, to});
}

void Space::wait(Token token) {
  const auto start = std::chrono::steady_clock::now();
  do_wait(token);
  const auto end = std::chrono::steady_clock::now();
  traffic_.waited_seconds += std::chrono::duration<double>(end - start).count();
  if (timeline_ != nullptr) timeline_->add({.what = Activity::kWait, .begin = start, .end = end});
}

Token Space::counted(const Get& get) {
  GNEISS_ASSERT(get.to.count <= 1 || get.row_bytes <= get.to.stride_bytes, "rows of {} bytes do not fit {}",
                get.row_bytes, get.to.stride_bytes);
  if (get.device != device()) ++traffic_.gets;
  count(get.device, get.to.count, get.row_bytes);
  return begin(get);
}

void Space::copy(const Get& get) {
  for (std::int64_t i = 0; i < get.to.count; ++i) {
    const std::int64_t row = get.list.empty() ? get.first + i : get.list[static_cast<std::size_t>(i)];
    std::memcpy(get.to.first + i * get.to.stride_bytes, get.from.first + row * get.from.stride_bytes,
                static_cast<std::size_t>(get.row_bytes));
  }
}

void Space::count(int device, std::int64_t rows, std::int64_t row_bytes) {
  if (device == this->device()) return;
  traffic_.rows += rows;
  traffic_.bytes += rows * row_bytes;
  traffic_.bytes_from.resize(static_cast<std::size_t>(devices()));
  traffic_.bytes_from[static_cast<std::size_t>(device)] += rows * row_bytes;
}

}  // namespace gneiss::pgas
