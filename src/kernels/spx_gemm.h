// Product of a sparse feature matrix with a dense one: forward from CSR, weight gradient from CSC.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct SpxGemmArgs {
  SparsePatternIn<S> a;
  SpanIn<const T, S> values;
  ConstMatrixView<T, S> b;
  MatrixView<T, S> c;
};

/// Multiplies sparse rows with a dense matrix.
///   c[i,:] = sum over stored (i,k) of values[slot] * b[k,:]
/// Shapes    a: [m,k] pattern, values: [nnz] in slot order (a transposed pattern names slots: aᵀ * b is this same
/// product
///           on the transpose); b: [k,n]; c: [m,n]
/// Aliasing  c overlaps nothing. Empty rows give 0. Bitwise equal for any number of threads.
/// Cost      2·nnz·n flop; allocates nothing
/// Errors    kShape
/// Source    Morphling §IV-B; the transposed copy is 1.7–2.1x faster than scattering
template <class T>
void spx_gemm(const Context& context, const SpxGemmArgs<T>& args);

template <class T>
std::span<const Variant<SpxGemmArgs<T>>> spx_gemm_variants();

}  // namespace gneiss::kernels
