// Graphs equal to their transpose: no transposed structure is needed.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// On graphs equal to their transpose, turns products along out-edges into products along in-edges where the weights
/// are equal both ways, so that no transposed structure is needed. On a rank of several, where the whole graph is so, a
/// sum along out-edges whose rows go back to their owners becomes one along in-edges of rows that are fetched. So does
/// the gradient of maxima and minima, whose winners are fetched by their ids, if `ids_fit` into indices.
ir::Program use_symmetry(const ir::Program& program, bool ids_fit = true);

}  // namespace gneiss::passes
