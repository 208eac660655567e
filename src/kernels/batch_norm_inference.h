// Batch normalisation with given statistics.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct BatchNormInferenceArgs {
  ConstMatrixView<T, S> x;
  ConstMatrixView<T, S> gamma;
  ConstMatrixView<T, S> beta;
  ConstMatrixView<T, S> mean;
  ConstMatrixView<T, S> var;
  double eps = 1e-5;
  MatrixView<T, S> y;
};

/// y = (x - mean) / sqrt(var + eps) * gamma + beta with running statistics.
/// Shapes    x, y: [n,d]; others [1,d]. Aliasing y may be x. Errors kShape
template <class T>
void batch_norm_inference(const Context& context, const BatchNormInferenceArgs<T>& args);

template <class T>
std::span<const Variant<BatchNormInferenceArgs<T>>> batch_norm_inference_variants();

}  // namespace gneiss::kernels
