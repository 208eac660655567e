// Values rounded to 16 bits.
#pragma once

#include <span>

#include "base/half.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct ToHalfArgs {
  ConstMatrixView<T, S> x;
  HalfElements<std::uint16_t, S> y;
};

/// Rounds to 16 bits: y = x, to the nearest, ties to even; beyond the range infinite (base/half.h).
/// Shapes    x: [m,n]; y: as x. Aliasing none. Errors kShape for elements without a format
template <class T>
void to_half(const Context& context, const ToHalfArgs<T>& args);

template <class T>
std::span<const Variant<ToHalfArgs<T>>> to_half_variants();

}  // namespace gneiss::kernels
