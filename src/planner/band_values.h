// What the bands of a plan have to themselves.
#pragma once

#include <vector>

#include "ir/plan.h"

namespace gneiss::planner {

/// For each value: is it made and read by ops of one band alone, row by row? No more of such a value exists than the
/// rows that each thread works on.
std::vector<bool> values_of_bands(const ir::Plan& plan);

/// Tells every step which bytes of its operands and results do not come from memory or go there, because its band has
/// to do with them anyway, and how much went through the caches since the others were there.
void count_reuse(ir::Plan* plan);

}  // namespace gneiss::planner
