// Values that need no operand: a number, the weights of the edges, the degrees of the nodes.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

enum class Fill : std::uint8_t { kConstant, kEdgeWeights, kDegrees };

template <class T, Space S = Space::kHost>
struct FillArgs {
  Fill what = Fill::kConstant;
  double value = 0;
  SpanIn<const float, S> weights;               ///< kEdgeWeights; empty: all ones
  const SparsePatternIn<S>* pattern = nullptr;  ///< kDegrees; its offsets are read when the kernel runs
  MatrixView<T, S> y;
};

/// Fills every column of a matrix with the same.
///   kConstant     y[r,c] = value
///   kEdgeWeights  y[r,c] = weights[r], or 1
///   kDegrees      y[r,c] = entries of row r of the pattern
/// Shapes    y: [n,d]; weights: [n] or empty; pattern: n rows. Aliasing none. Errors kShape
template <class T>
void fill(const Context& context, const FillArgs<T>& args);

template <class T>
std::span<const Variant<FillArgs<T>>> fill_variants();

}  // namespace gneiss::kernels
