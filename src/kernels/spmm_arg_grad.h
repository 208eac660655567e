// Backward of max/min aggregation with respect to the features.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct SpmmArgGradArgs {
  SparsePatternIn<S> out_edges;
  SpanIn<const EdgeId, S> in_offsets;
  ConstMatrixView<std::int32_t, S> arg;
  ConstMatrixView<T, S> dy;
  SpanIn<const T, S> w;
  MatrixView<T, S> dx;
  SpanIn<const std::int64_t, S> ids = {};  ///< of dx's rows: arg then names winners by them
};

/// Sends the gradient of each maximum to the source that won it, reading by source over the transposed pattern.
///   dx[u,j] = sum over k in row u (u -> v, slot s) of w[s] * dy[v,j] where arg[v,j] == s - offsets[v]
/// With ids, arg and dy are what arg_sources made of them, on other ranks too:
///   dx[u,j] = sum over the different v in row u of dy[v,j] where arg[v,j] == ids[u]
/// Products are rounded before they are added, in the order of the row, so that both forms have the same bits.
/// Shapes    out_edges: the transpose, with slots; in_offsets: [n+1] of the forward pattern; arg, dy: [n,d]; dx: [k,d];
///           w: [nnz] or empty. Heads: w has one column. With ids: out_edges needs no slots and has parallel edges side
///           by side; in_offsets and w are empty; ids: [k].
/// Aliasing  dx overlaps nothing. Bitwise equal for any number of threads. Errors kShape
template <class T>
void spmm_arg_grad(const Context& context, const SpmmArgGradArgs<T>& args);

template <class T>
std::span<const Variant<SpmmArgGradArgs<T>>> spmm_arg_grad_variants();

}  // namespace gneiss::kernels
