// Batch normalisation over the rows.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct BatchNormArgs {
  ConstMatrixView<T, S> x;
  ConstMatrixView<T, S> gamma;
  ConstMatrixView<T, S> beta;
  double eps = 1e-5;
  MatrixView<T, S> y;
  MatrixView<T, S> mean;
  MatrixView<T, S> var;
};

/// Scratch for x [n,d] (all batch_norm and layer_norm kernels).
std::size_t norm_workspace_bytes(std::int64_t n, std::int64_t d, std::size_t value_bytes);

/// Normalises each column over the rows (training).
///   mean, var (biased) over rows; y = (x - mean) / sqrt(var + eps) * gamma + beta
/// Shapes    x, y: [n,d]; gamma, beta, mean, var: [1,d]. Aliasing y overlaps nothing. Fixed chunks: bitwise equal for
/// any number
///           of threads. Errors kShape. Source: torch.nn.BatchNorm1d
template <class T>
void batch_norm(const Context& context, const BatchNormArgs<T>& args);

template <class T>
std::span<const Variant<BatchNormArgs<T>>> batch_norm_variants();

}  // namespace gneiss::kernels
