// Weights of edges that are products of node values become scalings of rows.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace gneiss::passes {

/// Rewrites
///   sum over in-edges of weight 1                    -> in-degree
///   1 x, for the 1 of an edge without weights        -> x
///   spmm(x, a[src] b[dst]), sum or mean, one head    -> b * spmm(a * x)     (mirrored along out-edges)
/// so that GCN's normalisation is no array of edges: nothing of 4 bytes an edge is made, kept or read. Scaling rows
/// costs two sweeps over x and y; it is done where the graph has at least `least_degree` edges a node for each column
/// of x, so that this is less than reading the weights (a fifth of that where the graph is not symmetric and x is not
/// the input: backward would look the weights up at random). `decisions` gets one sentence per product.
ir::Program factor_weights(const ir::Program& program, double least_degree, std::vector<std::string>* decisions);

}  // namespace gneiss::passes
