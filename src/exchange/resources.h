// What a kernel that fetches rows of others while it sums up its own takes of an SM: exact functions of four numbers.
// Source: MGG (OSDI 2023), section 4, equations 1 to 3.
#pragma once

#include <cstdint>
#include <string>

#include "exchange/machine.h"

namespace gneiss::exchange {

/// The numbers that are tuned.
struct Tuning {
  int piece = 16;  ///< the most edges of a piece (the paper's ps)
  int dist = 1;    ///< pieces of either kind a warp
  int warps = 8;   ///< of a block (wpb)
  int stages = 2;  ///< remote rows of a warp that are under way at once, each with a buffer

  bool operator==(const Tuning&) const = default;
};

/// The paper's ranges; of `stages`, which it does not have, ours.
inline constexpr Tuning kMostTuning = {32, 16, 16, 4};

/// Shared memory of a block that our kernel is launched with: what every card of compute capability 8.0 and later has.
inline constexpr std::int64_t kMostShared = std::int64_t{99} << 10;

/// Where the shared memory of a block's warp lies, in bytes from the warp's first: the ids of a piece, the sum of a
/// row, and the buffers that remote rows come to.
struct SharedLayout {
  std::int64_t ids = 0;
  std::int64_t sum = 0;
  std::int64_t landing = 0;
  std::int64_t bytes = 0;  ///< of a warp
};
constexpr SharedLayout shared_layout(const Tuning& tuning, std::int64_t columns) {
  SharedLayout layout;
  layout.sum = layout.ids + std::int64_t{tuning.piece} * 4;
  layout.landing = layout.sum + columns * 4;
  layout.bytes = layout.landing + tuning.stages * columns * 4;
  return layout;
}

/// Equation 1, with `stages` buffers where the paper has one: warps * (4 piece + 4 columns + 4 stages columns).
constexpr std::int64_t shared_bytes(const Tuning& tuning, std::int64_t columns) {
  return tuning.warps * shared_layout(tuning, columns).bytes;
}

/// Values that a warp adds up: 2 piece columns dist.
constexpr std::int64_t work_per_warp(const Tuning& tuning, std::int64_t columns) {
  return 2 * std::int64_t{tuning.piece} * columns * tuning.dist;
}

struct Resources {
  std::int64_t shared_bytes = 0;  ///< of a block
  std::int64_t warps = 0;         ///< of the whole launch, one a unit
  std::int64_t blocks = 0;
  int blocks_per_sm = 0;  ///< that are resident at once
  double occupancy = 0;   ///< resident warps over the most that an SM holds
  std::string refused;    ///< why it cannot be launched; empty if it can
};

/// `units`: of the workload.
Resources resources_of(const Tuning& tuning, std::int64_t columns, std::int64_t units, const Gpu& gpu);

}  // namespace gneiss::exchange
