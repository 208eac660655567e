// Message fusion: what is gathered to edges, weighted and reduced again becomes one sparse product.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// Rewrites
///   reduce(x@src) and reduce(w * x@src)         -> spmm(x[, w])           (and their mirror images along out-edges)
///   sum over channels of (y@dst * x@src)        -> sddmm(y, x)
/// so that no edge-sized array as wide as the features is made. Sum and mean take any narrow weight whose columns are
/// heads; max and min take one weight per edge. Weights as wide as the rows that they weigh make no smaller array;
/// `wide_weights` off leaves such a message to fuse_edges, which makes none. Source: Graphiler's movement types,
/// recovered here from the language's types.
ir::Program fuse_messages(const ir::Program& program, bool wide_weights);

}  // namespace gneiss::passes
