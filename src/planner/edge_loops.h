// Where loops over edges stand in a plan; fuse_edges marks their ops.
#pragma once

#include <vector>

#include "base/space.h"
#include "ir/plan.h"

namespace gneiss::planner {

/// Consecutive ops of one number, as the plan's loops. The program must have sizes; steps need not be bound yet.
/// `space`: where they run.
void find_edge_loops(ir::Plan* plan, Space space);

/// For every value, whether it is but the row of the edge that a loop is at.
std::vector<bool> values_of_loops(const ir::Plan& plan);

}  // namespace gneiss::planner
