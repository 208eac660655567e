// Running statistics of batch normalisation.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct BatchNormUpdateArgs {
  std::int64_t n = 0;
  double momentum = 0.1;
  ConstMatrixView<T, S> mean;
  ConstMatrixView<T, S> var;
  MatrixView<T, S> running_mean;
  MatrixView<T, S> running_var;
};

/// running = (1 - momentum) * running + momentum * new, with the unbiased variance var * n / (n - 1) (n = 1: var as it
/// is). Shapes    all [1,d]. Errors kShape. Source: torch.nn.BatchNorm1d
template <class T>
void batch_norm_update(const Context& context, const BatchNormUpdateArgs<T>& args);

template <class T>
std::span<const Variant<BatchNormUpdateArgs<T>>> batch_norm_update_variants();

}  // namespace gneiss::kernels
