// Values made again in backward instead of kept from forward, where memory has a limit.
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
  std::int64_t excess_bytes = 0;  ///< beyond the limit; 0 or less: it fits
  double seconds = 0;             ///< modelled, of a training step
};
using Measure = std::function<Footprint(const ir::Program&)>;

/// Values with rows that forward makes, backward reads and nobody else keeps.
std::vector<ir::ValueId> recomputable(const ir::Program& program);

/// Makes each of `values` again, with what it takes of forward, right before the first op of backward that reads it. They are the
/// same to the bit: dropout draws by a key, and parameters change after backward.
ir::Program recompute(const ir::Program& program, const std::set<ir::ValueId>& values);

/// Recomputes until `measure` says that the program fits, or nothing helps any more: in each turn the value that saves most bytes
/// for a modelled second, at the end those left out that were not needed after all. `decisions` gets one sentence per value.
ir::Program recompute_to_fit(const ir::Program& program, const Measure& measure, std::vector<std::string>* decisions);

}  // namespace gneiss::passes
