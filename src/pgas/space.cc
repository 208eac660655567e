// What every space does alike: looking at what is asked for, and counting it.
#include "pgas/space.h"

#include <chrono>

#include "base/error.h"

namespace gneiss::pgas {
namespace {

const std::byte* address(const SharedRows& rows, int device, std::int64_t row) {
  GNEISS_ASSERT(row >= 0 && row < rows.count, "device {} has no row {} of {}", device, row, rows.count);
  return rows.first + row * rows.stride_bytes;
}

}  // namespace

SharedRows Space::rows_of(Frame frame, int device) const {
  GNEISS_ASSERT(device >= 0 && device < devices(), "there is no device {} of {}", device, devices());
  return shown(frame, device);
}

const std::byte* Space::row_address(Frame frame, int device, std::int64_t row) const {
  return address(rows_of(frame, device), device, row);
}

Token Space::get_rows(Frame frame, int device, std::span<const NodeId> rows, std::int64_t row_bytes, LocalRows to) {
  GNEISS_ASSERT(std::ssize(rows) == to.count, "{} rows are fetched into room for {}", rows.size(), to.count);
  const SharedRows from = rows_of(frame, device);
  for (const NodeId row : rows) address(from, device, row);  // throws if there is no such row
  return counted({frame, device, from, rows, 0, row_bytes, to});
}

Token Space::get_range(Frame frame, int device, std::int64_t first, std::int64_t row_bytes, LocalRows to) {
  const SharedRows from = rows_of(frame, device);
  if (to.count > 0) {
    address(from, device, first);
    address(from, device, first + to.count - 1);
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
  if (get.device != device()) {
    ++traffic_.gets;
    traffic_.rows += get.to.count;
    traffic_.bytes += get.to.count * get.row_bytes;
    traffic_.bytes_from.resize(static_cast<std::size_t>(devices()));
    traffic_.bytes_from[static_cast<std::size_t>(get.device)] += get.to.count * get.row_bytes;
  }
  return begin(get);
}

}  // namespace gneiss::pgas
