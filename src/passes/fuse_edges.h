// Ops on edges as loops over edges: what is gathered, computed and reduced passes through registers, edge by edge.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// Marks ops of a loop with the attribute `loop`, a number, and moves them behind one another. A loop ends in
/// reductions of edges to nodes (along in-edges or along out-edges), in sums over all edges, or in values of edges that
/// other ops read; all else that it computes of an edge is gone with the edge. Each loop computes anew what it needs of
/// the ops before: backward keeps no row of an edge. Ops that see more than one edge (softmax, sparse products) stay as
/// they are, as does a reduction of values that are there anyway. `decisions` gets a sentence for each loop.
ir::Program fuse_edges(const ir::Program& program, std::vector<std::string>* decisions);

}  // namespace gneiss::passes
