// What unified memory would do with the same sums: pages of 64 KB wander to the device that touches them.
//
// A page is on one device at a time. Devices go on in turns, each with the reads that its resident warps have under
// way; a page that a turn needs and another device has is one fault, and moves. So a page serves a whole turn, and
// wanders as often as turns of different devices ask for it. Source: MGG (OSDI 2023), figure 3 and the baseline of
// section 5.1.
#pragma once

#include <cstdint>
#include <span>

#include "exchange/machine.h"
#include "graph/graph.h"

namespace gneiss::exchange {

inline constexpr std::int64_t kPageBytes = 64 * 1024;

struct PageFaults {
  std::int64_t faults = 0;  ///< of all devices
  std::int64_t most = 0;    ///< of one device
  std::int64_t bytes() const { return faults * kPageBytes; }
};

/// Of one sum on all devices.
///   reads_a_turn   rows that a device reads before the next has its turn
/// Cost: O(edges).
PageFaults count_page_faults(const graph::Graph& graph, std::span<const std::int64_t> starts, std::int64_t columns,
                             std::int64_t reads_a_turn);

/// Rows that the resident warps of a GPU have under way at once: four a warp.
std::int64_t reads_under_way(const Gpu& gpu);

/// Seconds that a device waits for so many faults: 256 are handled together in 20 us, and pages move at 6 GB/s.
double fault_seconds(std::int64_t faults);

}  // namespace gneiss::exchange
