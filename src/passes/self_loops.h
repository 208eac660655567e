// Sums over a graph that has a self loop at each node, without a copy of its edges.
#pragma once

#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/program.h"

namespace gneiss::passes {

/// Where a graph is another one, which has no self loops, with one at each node, rewrites
///   spmm(x) over it, sums without weights  -> x + spmm(x) over the other
///   degree over it                         -> degree over the other + 1
/// so that nothing walks it and its edges need not be copied. A copy takes memory and time once, the sums take another
/// pass over x in every step: it is done where that is less in all steps of `repeats`, for trainings of a few epochs. A
/// graph that anything else walks stays, and one whose sums are computed once, before the first epoch. `decisions` gets
/// one sentence per graph.
ir::Program leave_out_self_loops(const ir::Program& program, const cost::Rates& rates, const cost::Repeats& repeats,
                                 std::vector<std::string>* decisions);

}  // namespace gneiss::passes
