// Backward of layer normalisation.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/batch_norm.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct LayerNormGradArgs {
  bool graph_mode = false;
  ConstMatrixView<T, S> x;
  ConstMatrixView<T, S> gamma;
  ConstMatrixView<T, S> mean;
  ConstMatrixView<T, S> var;
  ConstMatrixView<T, S> dy;
  double eps = 1e-5;
  MatrixView<T, S> dx;
  MatrixView<T, S> dgamma;
  MatrixView<T, S> dbeta;
};

/// Gradients of x, gamma and beta.
/// Shapes    x, dy, dx: [n,d]; gamma, dgamma, dbeta: [1,d]; mean, var as in layer_norm. Aliasing dx may be dy. Errors
/// kShape
template <class T>
void layer_norm_grad(const Context& context, const LayerNormGradArgs<T>& args);

template <class T>
std::span<const Variant<LayerNormGradArgs<T>>> layer_norm_grad_variants();

}  // namespace gneiss::kernels
