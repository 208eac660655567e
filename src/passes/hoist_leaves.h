// Graph data for programs whose constants are not hoisted.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// Moves edge weights, degrees and numbers to the setup phase. Training and evaluation share these ops, and what
/// training made lies in memory that evaluation uses for itself, so they cannot stay in training even where
/// hoist_constants is switched off.
ir::Program hoist_leaves(const ir::Program& program);

}  // namespace gneiss::passes
