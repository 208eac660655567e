// Backward of the functions of one element, from their output.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"
#include "kernels/unary.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct UnaryGradArgs {
  Unary fn = Unary::kRelu;
  double alpha = 0;
  ConstMatrixView<T, S> y;
  ConstMatrixView<T, S> dy;
  MatrixView<T, S> dx;
};

/// dx = dy * fn'(x), with the derivative written in terms of y = fn(x).
/// relu, leaky_relu: by the sign of y; elu: y > 0 ? 1 : y + alpha; sigmoid: y(1-y); tanh: 1-y²; exp: y; sqrt: 1/(2y), 0
/// at 0; rsqrt: -y³/2. log and affine have no entry here (their gradients are a division and a multiple). Shapes    y,
/// dy, dx: [n,d]. Aliasing dx may be y or dy. Errors kShape
template <class T>
void unary_grad(const Context& context, const UnaryGradArgs<T>& args);

template <class T>
std::span<const Variant<UnaryGradArgs<T>>> unary_grad_variants();

}  // namespace gneiss::kernels
