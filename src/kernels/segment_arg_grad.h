// Backward of max/min segment_reduce.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct SegmentArgGradArgs {
  SpanIn<const EdgeId, S> offsets;
  ConstMatrixView<std::int32_t, S> arg;
  ConstMatrixView<T, S> dy;
  MatrixView<T, S> de;
};

/// de[k,j] = dy[v,j] if arg[v,j] is k's position within row v, else 0.
/// Shapes    offsets: [n+1]; arg, dy: [n,d]; de: [nnz,d]. Errors kShape
template <class T>
void segment_arg_grad(const Context& context, const SegmentArgGradArgs<T>& args);

template <class T>
std::span<const Variant<SegmentArgGradArgs<T>>> segment_arg_grad_variants();

}  // namespace gneiss::kernels
