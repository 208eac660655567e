// Backward of elementwise maximum and minimum.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct ExtremeGradArgs {
  bool maximum = true;
  bool first = true;
  ConstMatrixView<T, S> a;
  ConstMatrixView<T, S> b;
  ConstMatrixView<T, S> dy;
  MatrixView<T, S> dx;
};

/// The gradient of one operand: dy where it won, else 0; of equals the first operand wins.
/// Shapes    a, b, dy, dx: [n,d]. Aliasing dx may be any of them. Errors kShape
template <class T>
void extreme_grad(const Context& context, const ExtremeGradArgs<T>& args);

template <class T>
std::span<const Variant<ExtremeGradArgs<T>>> extreme_grad_variants();

}  // namespace gneiss::kernels
