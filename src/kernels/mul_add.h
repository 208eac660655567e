// x + a * b, with broadcasting.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct MulAddArgs {
  ConstMatrixView<T, S> x;
  ConstMatrixView<T, S> a;
  ConstMatrixView<T, S> b;
  MatrixView<T, S> y;
};

/// y = x + a * b; a and b broadcast as in binary.
/// Shapes    x, y: [n,w]; a, b: [n or 1, divisor of w]. Aliasing y may be x, or a or b of its own shape. Errors kShape
template <class T>
void mul_add(const Context& context, const MulAddArgs<T>& args);

template <class T>
std::span<const Variant<MulAddArgs<T>>> mul_add_variants();

}  // namespace gneiss::kernels
