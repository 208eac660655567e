// Backward of weighted max/min aggregation with respect to the edge weights.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct SpmmArgWeightGradArgs {
  SparsePatternIn<S> in_edges;
  ConstMatrixView<std::int32_t, S> arg;
  ConstMatrixView<T, S> dy;
  ConstMatrixView<T, S> x;
  SpanIn<T, S> dw;
};

/// dw[k] = sum over columns j won by edge k of row v of dy[v,j] * x[index k, j].
/// Shapes    in_edges: n×k; arg, dy: [n,d]; x: [k,d]; dw: [nnz]. Bitwise equal for any number of threads. Errors kShape
template <class T>
void spmm_arg_weight_grad(const Context& context, const SpmmArgWeightGradArgs<T>& args);

template <class T>
std::span<const Variant<SpmmArgWeightGradArgs<T>>> spmm_arg_weight_grad_variants();

}  // namespace gneiss::kernels
