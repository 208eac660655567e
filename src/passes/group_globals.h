// Ops without rows out of the way of those that have them.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// Moves ops that read and make global values only (a product of two parameters, the sum of two gradients) to the start of their
/// phase, or to its end if they wait for its rows and no row of it waits for them: between ops on the same rows they would cut a
/// band in two. The order is otherwise kept. Ops have to be sorted by phase.
ir::Program group_globals(const ir::Program& program);

}  // namespace gneiss::passes
