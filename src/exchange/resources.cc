// Blocks on an SM are bounded by its warps, its shared memory and its number of blocks; registers never bind first
// here, since a lane holds a few columns of one row.
#include "exchange/resources.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parallel.h"

namespace gneiss::exchange {
namespace {

/// What the runtime takes of an SM's shared memory for each block (compute capability 8.0 and later).
constexpr std::int64_t kReserved = 1024;

std::string why_not(const Tuning& tuning, std::int64_t shared, const Gpu& gpu) {
  const auto outside = [](int value, int most) { return value < 1 || value > most; };
  if (outside(tuning.piece, kMostTuning.piece) || outside(tuning.dist, kMostTuning.dist) ||
      outside(tuning.warps, kMostTuning.warps) || outside(tuning.stages, kMostTuning.stages)) {
    return fmt::format("piece 1 to {}, dist 1 to {}, warps 1 to {} and stages 1 to {} are tried", kMostTuning.piece,
                       kMostTuning.dist, kMostTuning.warps, kMostTuning.stages);
  }
  if (shared > gpu.shared_per_block) {
    return fmt::format("a block of {} warps takes {} bytes of shared memory, a block of {} may have {}", tuning.warps,
                       shared, gpu.name, gpu.shared_per_block);
  }
  return {};
}

}  // namespace

Resources resources_of(const Tuning& tuning, std::int64_t columns, std::int64_t units, const Gpu& gpu) {
  Resources made;
  made.shared_bytes = shared_bytes(tuning, columns);
  made.refused = why_not(tuning, made.shared_bytes, gpu);
  if (!made.refused.empty()) return made;
  made.warps = units;
  made.blocks = num_chunks(units, tuning.warps);
  const std::int64_t by_shared = gpu.shared_per_sm / (made.shared_bytes + kReserved);
  made.blocks_per_sm = static_cast<int>(std::max<std::int64_t>(
      1, std::min({std::int64_t{gpu.blocks_per_sm}, by_shared, std::int64_t{gpu.warps_per_sm} / tuning.warps})));
  made.occupancy = static_cast<double>(made.blocks_per_sm * tuning.warps) / gpu.warps_per_sm;
  return made;
}

}  // namespace gneiss::exchange
