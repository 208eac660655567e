// Values made again in backward instead of kept from forward: where memory has a limit, or where it costs next to
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// What a program would take.
struct Footprint {
  std::int64_t excess_bytes = 0;  ///< beyond the limit; 0 or less: it fits. Without a limit: the arena
  double seconds = 0;             ///< modelled, of a training step
};
using Measure = std::function<Footprint(const ir::Program&)>;

/// Values with rows that forward makes, backward reads and nobody else keeps.
std::vector<ir::ValueId> recomputable(const ir::Program& program);

/// Makes each of `values` again, with what it takes of forward, right before the first op of backward that reads it;
/// those that are in `for_each_band` too once more for readers after an op that gathers (where a band of rows ends), so
/// that between the bands they take no memory. They are the same to the bit: dropout draws by a key, and parameters
/// change after backward.
ir::Program recompute(const ir::Program& program, const std::set<ir::ValueId>& values,
                      const std::set<ir::ValueId>& for_each_band = {});

/// What making values again has to be worth where memory has no limit. The defaults keep small plans as they are.
struct RecomputeLimits {
  std::int64_t least_arena_bytes = std::int64_t{64} << 20;  ///< arenas below it are left alone
  double least_saving = 0.1;                                ///< of the arena, by all values together
  double most_time = 0.03;                                  ///< of a step, for all values together
  double time_for_more = 0.06;  ///< or this, if what goes beyond most_time saves `least_more_bytes`
  double exchange = 1.5;        ///< each value saves so many times as large a share of all memory as it takes of a step
  std::int64_t besides_bytes = 0;  ///< memory besides the arena
  std::int64_t least_more_bytes = std::int64_t{64} << 20;
};

/// Recomputes what costs little: in each turn the value that saves most bytes of the arena, which is what `measure`
/// counts here, for a modelled second, until the time is used up.
ir::Program recompute_cheap(const ir::Program& program, const Measure& measure, const RecomputeLimits& limits,
                            std::vector<std::string>* decisions);

/// Recomputes until `measure` says that the program fits, or nothing helps any more: in each turn the value that saves
/// most bytes for a modelled second, at the end those left out that were not needed after all. `decisions` gets one
/// sentence per value.
ir::Program recompute_to_fit(const ir::Program& program, const Measure& measure, std::vector<std::string>* decisions);

}  // namespace gneiss::passes
