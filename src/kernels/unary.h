// Functions of one element.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

enum class Unary : std::uint8_t { kAffine, kRelu, kLeakyRelu, kElu, kSigmoid, kTanh, kExp, kLog, kSqrt, kRsqrt };

template <class T, Space S = Space::kHost>
struct UnaryArgs {
  Unary fn = Unary::kRelu;
  double alpha = 0;  ///< leaky_relu, elu; scale of affine
  double shift = 0;  ///< affine
  ConstMatrixView<T, S> x;
  MatrixView<T, S> y;
};

/// y = fn(x), elementwise. affine: scale * x + shift. leaky_relu: x > 0 ? x : alpha * x. elu: x > 0 ? x : alpha *
/// (exp(x) - 1). rsqrt(0) = 0 (a node without edges contributes nothing under GCN normalisation), as for negative x.
/// Shapes    x, y: [n,d]. Aliasing y may be x. Errors kShape
template <class T>
void unary(const Context& context, const UnaryArgs<T>& args);

template <class T>
std::span<const Variant<UnaryArgs<T>>> unary_variants();

}  // namespace gneiss::kernels
