// Where a row stands in a list of rows.
#pragma once

#include "kernels/cuda/device.h"

namespace gneiss::kernels::GNEISS_DEVICE {

/// Where row r stands in the ascending list, or -1.
__device__ inline std::int64_t find_row(const DeviceSpan<const NodeId>& rows, std::int64_t r) {
  std::int64_t low = 0;
  auto high = static_cast<std::int64_t>(rows.size);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (rows.data[middle] < r) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const bool found = low < static_cast<std::int64_t>(rows.size) && rows.data[low] == r;
  return found ? low : -1;
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
