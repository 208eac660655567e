// Who won the columns of a max/min aggregation, by the ids of nodes: what other ranks understand.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct ArgSourcesArgs {
  SparsePatternIn<S> in_edges;
  SpanIn<const std::int64_t, S> ids;  ///< of the sources: different ones, at least 0 and below 2^31
  ConstMatrixView<std::int32_t, S> arg;
  ConstMatrixView<T, S> dy;
  SpanIn<const T, S> w;
  MatrixView<std::int32_t, S> source;
  MatrixView<T, S> weighed;
};

/// Names the source that won each maximum; of weighted edges, takes the edge's weight along.
///   source[v,j] = ids[index k], weighed[v,j] = w[k] * dy[v,j], where k = offsets[v] + arg[v,j]; -1 and 0 if no edge
///   won
/// The product is rounded as spmm_arg_grad rounds it.
/// Shapes    in_edges: n×k, without slots; ids: [k]; arg, source: [n,d]. dy, weighed: [n,d] and w: [nnz], or all empty.
/// Aliasing  results overlap nothing. Bitwise equal for any number of threads. Errors kShape
template <class T>
void arg_sources(const Context& context, const ArgSourcesArgs<T>& args);

template <class T>
std::span<const Variant<ArgSourcesArgs<T>>> arg_sources_variants();

}  // namespace gneiss::kernels
