// Dropout from counter-based random numbers: no mask is stored, backward is the same call on the gradient.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct DropoutArgs {
  double p = 0.5;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint32_t stream = 0;
  SpanIn<const std::int64_t, S> row_ids;            ///< original ids, or empty
  const SparsePatternIn<S>* in_edges = nullptr;     ///< set for edge values: rows are destinations
  const SparsePatternIn<S>* sparse_rows = nullptr;  ///< set for sparse values
  ConstMatrixView<T, S> x;
  MatrixView<T, S> y;
  std::int64_t first_row = 0;  ///< which row of the node set row 0 is
  bool reversed = false;       ///< of edges: the draw of u -> v is that of v -> u
};

/// y[r,c] = draw(r,c) >= p ? x[r,c] / (1 - p) : 0, where draw is a function of (seed, epoch, stream, row id, column)
/// alone. Row ids: row_ids[first_row + r], or first_row + r if empty. For edges in_edges is given: the row of edge k of
/// destination v is the pair (id of v, id of its source), so an edge's draw does not depend on how edges are stored
/// (parallel edges share a draw); with `reversed` it is the pair of the edge the other way round. For sparse x
/// (`columns` given: a CSR pattern), element k of the values has its own row and column. draw(r, c) =
/// uniform_float(philox(seed ^ epoch·odd constant, {row low, row high or 0, c / 4, stream})[c % 4]) Shapes    x, y:
/// [n,d] (sparse: [nnz,1]). Aliasing y may be x. Bitwise equal for any number of threads. Errors kShape
template <class T>
void dropout(const Context& context, const DropoutArgs<T>& args);

template <class T>
std::span<const Variant<DropoutArgs<T>>> dropout_variants();

}  // namespace gneiss::kernels
