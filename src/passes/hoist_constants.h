// What needs only graph and features runs once.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// Moves to the setup phase every op that needs only the graph, the features and constants: GCN's normalisation, an
/// aggregation of the raw features. It then runs once, before training.
ir::Program hoist_constants(const ir::Program& program);

}  // namespace gneiss::passes
