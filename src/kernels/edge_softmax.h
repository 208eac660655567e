// Softmax of edge scores over the in-edges of each node.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct EdgeSoftmaxArgs {
  SpanIn<const EdgeId, S> offsets;
  ConstMatrixView<T, S> e;
  MatrixView<T, S> a;
};

/// Normalises scores over each row, per column.
///   a[k,h] = exp(e[k,h] - max of the row) / (sum over the row of exp(e - max) + 1e-16)
/// Shapes    offsets: [n+1]; e, a: [nnz, heads]. Aliasing a may be e. Bitwise equal for any number of threads. Errors
/// kShape Source    pyg utils/softmax.py
template <class T>
void edge_softmax(const Context& context, const EdgeSoftmaxArgs<T>& args);

template <class T>
std::span<const Variant<EdgeSoftmaxArgs<T>>> edge_softmax_variants();

}  // namespace gneiss::kernels
