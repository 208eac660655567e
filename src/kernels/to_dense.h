// Sparse rows written out densely.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct ToDenseArgs {
  SparsePatternIn<S> a;
  SpanIn<const T, S> values;
  MatrixView<T, S> dst;
};

/// Writes a sparse matrix densely: dst = 0 except dst[i, column of k] = values[k].
/// Shapes    a: [m,n], values [nnz]; dst [m,n]. Errors kShape
template <class T>
void to_dense(const Context& context, const ToDenseArgs<T>& args);

template <class T>
std::span<const Variant<ToDenseArgs<T>>> to_dense_variants();

}  // namespace gneiss::kernels
