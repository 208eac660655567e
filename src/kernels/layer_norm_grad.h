// Backward of layer normalisation.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/batch_norm.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T>
struct LayerNormGradArgs {
  bool graph_mode = false;
  ConstMatrixView<T> x;
  ConstMatrixView<T> gamma;
  ConstMatrixView<T> mean;
  ConstMatrixView<T> var;
  ConstMatrixView<T> dy;
  double eps = 1e-5;
  MatrixView<T> dx;
  MatrixView<T> dgamma;
  MatrixView<T> dbeta;
};

/// Gradients of x, gamma and beta.
/// Shapes    x, dy, dx: [n,d]; gamma, dgamma, dbeta: [1,d]; mean, var as in layer_norm. Aliasing dx may be dy. Errors
/// kShape
template <class T>
void layer_norm_grad(const Context& context, const LayerNormGradArgs<T>& args);

template <class T>
std::span<const Variant<LayerNormGradArgs<T>>> layer_norm_grad_variants();

}  // namespace gneiss::kernels
