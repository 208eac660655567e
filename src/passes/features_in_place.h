// Sums over blocks that read rows of features where the data set has them.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/cost.h"
#include "ir/plan.h"
#include "passes/to_blocks.h"

namespace gneiss::passes {

/// Has the sums of a plan over blocks read the features of all nodes, by the numbers that those have in the full graph,
/// in place of a batch's gathered rows: the same ops in the same order, and the same bits. The graphs that these sums
/// go over are marked in `graphs` (BlockGraph::of_all_nodes). Nothing changes and the answer is false where anything
/// but sums reads the features or has to do with these graphs; and, if `rates` are given, where gathering once is
/// modelled to take less: a batch's rows may stay in a cache that all rows do not fit into.
bool read_features_in_place(std::int64_t num_nodes, const cost::Rates* rates, ir::Plan* plan,
                            std::vector<BlockGraph>* graphs);

}  // namespace gneiss::passes
