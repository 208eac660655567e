// Bands that would hold too much memory at once are cut in two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/plan.h"

namespace gneiss::planner {

/// What a cut has to be worth. The defaults keep small plans as they are.
struct SplitLimits {
  std::int64_t least_arena_bytes = std::int64_t{64} << 20;  ///< arenas below it are left alone
  double least_saving = 0.05;                               ///< of the arena, for each cut
  double most_time = 0.02;                                  ///< of a step, for all cuts together
};

/// Values of ops that run together live together, so a band may need more memory than its ops one after another. Cuts
/// bands where that makes the arena smaller and costs little: a value that is passed across the cut is read from memory
/// again. The cut that saves most comes first. Steps have to have modelled times; values must not have places yet.
void split_bands(ir::Plan* plan, const cost::Rates& rates, const SplitLimits& limits,
                 std::vector<std::string>* decisions);

}  // namespace gneiss::planner
