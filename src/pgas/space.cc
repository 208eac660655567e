// What every space does alike: looking at what is asked for, and counting it.
#include "pgas/space.h"

#include "base/error.h"

namespace gneiss::pgas {

Token Space::get_rows(int device, std::span<const NodeId> rows, std::int64_t row_bytes, LocalRows to) {
  GNEISS_ASSERT(std::ssize(rows) == to.count, "{} rows are fetched into room for {}", rows.size(), to.count);
  for (const NodeId row : rows) row_address(device, row);  // throws if there is no such row
  return counted({device, rows, 0, row_bytes, to});
}

Token Space::get_range(int device, std::int64_t first, std::int64_t row_bytes, LocalRows to) {
  if (to.count > 0) {
    row_address(device, first);
    row_address(device, first + to.count - 1);
  }
  return counted({device, {}, first, row_bytes, to});
}

Token Space::counted(const Get& get) {
  GNEISS_ASSERT(get.to.count <= 1 || get.row_bytes <= get.to.stride_bytes, "rows of {} bytes do not fit {}",
                get.row_bytes, get.to.stride_bytes);
  if (get.device != device()) {
    ++traffic_.gets;
    traffic_.rows += get.to.count;
    traffic_.bytes += get.to.count * get.row_bytes;
  }
  return begin(get);
}

}  // namespace gneiss::pgas
