// Memory planning: where every value lies.
#pragma once

#include "ir/plan.h"

namespace gneiss::planner {

/// Fills placements and the byte counts of `plan` from its program.
///
/// Parameters, gradients and states lie in flat buffers, each aligned to 64 bytes; setup results that later phases read
/// are kept; everything else shares one arena: a value occupies it from the op that makes it to the last op that reads
/// it, an elementwise result takes the place of an operand that dies there, in a band any result that of a value which
/// an earlier op read last, and the rest is placed largest first at the lowest free offset. Scratch of kernels is the
/// start of the arena: values that are alive while a kernel runs lie behind what it needs. Setup, training step and
/// inference run one after another and reuse the same arena.
void plan_memory(ir::Plan* plan);

}  // namespace gneiss::planner
