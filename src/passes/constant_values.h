// Constant values: those that are the same in every step.
#pragma once

#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// Which values need only the graph, the features, constants and states that stay what they are at first: those which
/// nothing updates (GIN's eps, unless it is trained) and whose first value is the same for every seed.
std::vector<bool> constant_values(const ir::Program& program);

}  // namespace gneiss::passes
