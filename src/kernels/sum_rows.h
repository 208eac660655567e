// Column sums.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T>
struct SumRowsArgs {
  ConstMatrixView<T> x;
  MatrixView<T> y;
};

/// Scratch for x [n,d].
std::size_t sum_rows_workspace_bytes(std::int64_t n, std::int64_t d, std::size_t value_bytes);


/// y[0,:] = sum over rows of x, in fixed chunks added in order (bitwise equal for any number of threads).
/// Shapes    x: [n,d]; y: [1,d]. Errors kShape
template <class T>
void sum_rows(const Context& context, const SumRowsArgs<T>& args);

template <class T>
std::span<const Variant<SumRowsArgs<T>>> sum_rows_variants();

}  // namespace gneiss::kernels
