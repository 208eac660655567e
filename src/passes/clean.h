// Housekeeping passes: common subexpressions and dead code.
#pragma once

#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// Removes ops whose results nobody needs (effects, outputs, parameters and their gradients are needed) and numbers the
/// values anew. Optional results without a use are dropped.
ir::Program eliminate_dead_code(const ir::Program& program);

/// Makes ops that compute the same thing one. An op of the setup phase serves all; forward and backward share;
/// inference keeps its own, since the parameters change in between.
ir::Program eliminate_common_subexpressions(const ir::Program& program);

/// Which values need only the graph, the features, constants and states that stay what they are at first: those which
/// nothing updates (GIN's eps, unless it is trained) and whose first value is the same for every seed.
std::vector<bool> constant_values(const ir::Program& program);

/// Moves to the setup phase every op that needs only the graph, the features and constants: GCN's normalisation, an
/// aggregation of the raw features. It then runs once, before training.
ir::Program hoist_constants(const ir::Program& program);

}  // namespace gneiss::passes
