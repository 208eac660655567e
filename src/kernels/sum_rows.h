// Column sums.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct SumRowsArgs {
  ConstMatrixView<T, S> x;
  MatrixView<T, S> y;
  ConstMatrixView<T, S> weights = {};  ///< or no rows
};

/// Scratch for x [n,d].
std::size_t sum_rows_workspace_bytes(std::int64_t n, std::int64_t d, std::size_t value_bytes);

/// y[0,c] = sum over rows r of x[r,c] * weights[r, group of c], in fixed chunks added in order (bitwise equal for any
/// number of threads). Without weights, the plain sum. Shapes    x: [n,d]; y: [1,d]; weights: [n, divisor of d]. Errors
/// kShape
template <class T>
void sum_rows(const Context& context, const SumRowsArgs<T>& args);

template <class T>
std::span<const Variant<SumRowsArgs<T>>> sum_rows_variants();

}  // namespace gneiss::kernels
