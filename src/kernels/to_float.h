// 16-bit values widened.
#pragma once

#include <span>

#include "base/half.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T, Space S = Space::kHost>
struct ToFloatArgs {
  HalfElements<const std::uint16_t, S> x;
  MatrixView<T, S> y;
};

/// Widens 16-bit values: y = x, exactly.
/// Shapes    y: [m,n]; x: as y. Aliasing none. Errors kShape for elements without a format
template <class T>
void to_float(const Context& context, const ToFloatArgs<T>& args);

template <class T>
std::span<const Variant<ToFloatArgs<T>>> to_float_variants();

}  // namespace gneiss::kernels
