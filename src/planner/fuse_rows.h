// Which ops run together, a band of rows at a time.
#pragma once

#include <string>
#include <vector>

#include "ir/plan.h"

namespace gneiss::planner {

/// Groups steps that follow each other in one phase and work on the same rows (of one node set, or of the edges of one
/// graph) into bands, so that a row is still in cache when the next op asks for it: an aggregation, its bias and
/// activation, the product after it, the sums that gradients need. Forward's last band goes on into backward and runs
/// in forward as a whole: scores, loss and the last layer's gradients. An op joins if its kernel can be cut into bands,
/// if it reads nothing that the others only have when they are through (sums over rows), and no row of theirs but its
/// own (a neighbour's). Kernels have to be bound, values must not have places yet. `decisions` gets one sentence per
/// group.
void fuse_rows(ir::Plan* plan, std::vector<std::string>* decisions);

}  // namespace gneiss::planner
