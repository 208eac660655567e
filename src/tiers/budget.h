// How many rows a device has room for, beside what a training takes of its memory.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gneiss::tiers {

struct DeviceBudget {
  std::int64_t memory_bytes = 0;
  std::int64_t plan_bytes = 0;  ///< values of a step, constants, parameters with their gradients and moments
  std::int64_t slabs = 0;       ///< batches that wait on the device, and the one that is trained
  std::int64_t slab_bytes = 0;  ///< of each
  std::int64_t rows = 0;        ///< that there are
  std::int64_t row_bytes = 0;
};

/// What the training leaves; below 0 where it does not fit itself.
constexpr std::int64_t bytes_left(const DeviceBudget& budget) {
  return budget.memory_bytes - budget.plan_bytes - budget.slabs * budget.slab_bytes;
}

/// Never more than there are, none where the training alone takes all.
constexpr std::int64_t rows_that_fit(const DeviceBudget& budget) {
  const std::int64_t left = bytes_left(budget);
  if (left <= 0) return 0;
  return budget.row_bytes == 0 ? budget.rows : std::min(budget.rows, left / budget.row_bytes);
}

}  // namespace gneiss::tiers
