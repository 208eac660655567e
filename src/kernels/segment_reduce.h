// Edge rows reduced to nodes.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"
#include "kernels/spmm.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct SegmentReduceArgs {
  SparsePatternIn<S> pattern;
  ConstMatrixView<T, S> e;
  Reduce reduce = Reduce::kSum;
  MatrixView<T, S> y;
  MatrixView<std::int32_t, S> arg;
};

/// Reduces the edge rows of each row of the pattern.
///   y[v,:] = sum | mean | max | min over k in row v of e[slot k,:]; arg as in spmm
/// Shapes    pattern: rows are the nodes that receive (in-edges, or out-edges with slots); e: [slots,d]; y: [n,d]; arg:
/// as y or
///           empty. Empty row: 0. Bitwise equal for any number of threads. Errors kShape
template <class T>
void segment_reduce(const Context& context, const SegmentReduceArgs<T>& args);

template <class T>
std::span<const Variant<SegmentReduceArgs<T>>> segment_reduce_variants();

}  // namespace gneiss::kernels
