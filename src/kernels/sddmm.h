// Inner products of the two ends of every edge.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct SddmmArgs {
  SparsePatternIn<S> pattern;
  ConstMatrixView<T, S> y;
  ConstMatrixView<T, S> x;
  std::int64_t heads = 1;
  MatrixView<T, S> e;
};

/// Takes, for each edge and head, the inner product of a destination row and a source row.
///   e[k,h] = sum over c of y[v,h,c] * x[index k,h,c] for each k in row v
/// Shapes    pattern: n×k without slots; y: [n, heads·d]; x: [k, heads·d]; e: [nnz, heads]
/// Aliasing  e overlaps nothing. Bitwise equal for any number of threads. Cost 2·nnz·heads·d flop. Errors kShape
template <class T>
void sddmm(const Context& context, const SddmmArgs<T>& args);

template <class T>
std::span<const Variant<SddmmArgs<T>>> sddmm_variants();

}  // namespace gneiss::kernels
