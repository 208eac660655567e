// Ops on the same rows next to each other, for bands.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// Puts ops in an order in which more of those on the same rows follow one another; an op between them would cut their
/// band in two. Ops that read and make global values only (a product of two parameters, the sum of two gradients) move
/// to the start of their phase, or to its end if they wait for its rows and no row of it waits for them. An op on other
/// rows than the ops before it moves before them, where it meets its like, if it does not wait for them. The order is
/// otherwise kept. Ops have to be sorted by phase.
ir::Program group_rows(const ir::Program& program);

}  // namespace gneiss::passes
