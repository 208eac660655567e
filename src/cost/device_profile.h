// A card as plans know it: its memory, and rates for the times of ops.
#pragma once

#include <cstdint>
#include <string>

#include "cost/cost.h"

namespace gneiss::cost {

struct DeviceProfile {
  std::string name;
  std::int64_t memory_bytes = 0;  ///< that a process can have
  Rates rates;
};

/// An H100 with 80 GB, described and not measured: published rates of its memory and its L2 cache, its peaks in f32.
const DeviceProfile& h100_profile();

}  // namespace gneiss::cost
