// Backward of edge_softmax.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct EdgeSoftmaxGradArgs {
  SpanIn<const EdgeId, S> offsets;
  ConstMatrixView<T, S> a;
  ConstMatrixView<T, S> da;
  MatrixView<T, S> de;
};

/// de[k,h] = a[k,h] * (da[k,h] - sum over the row of a * da).
/// Shapes    offsets: [n+1]; a, da, de: [nnz, heads]. Aliasing de may be a or da. Errors kShape
template <class T>
void edge_softmax_grad(const Context& context, const EdgeSoftmaxGradArgs<T>& args);

template <class T>
std::span<const Variant<EdgeSoftmaxGradArgs<T>>> edge_softmax_grad_variants();

}  // namespace gneiss::kernels
