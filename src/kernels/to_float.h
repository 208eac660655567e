// 16-bit values widened.
#pragma once

#include <span>

#include "base/half.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

template <class T>
struct ToFloatArgs {
  ConstHalves x;
  MatrixView<T> y;
};

/// Widens 16-bit values: y = x, exactly.
/// Shapes    y: [m,n]; x: as y. Aliasing none. Errors kShape for elements without a format
template <class T>
void to_float(const Context& context, const ToFloatArgs<T>& args);

template <class T>
std::span<const Variant<ToFloatArgs<T>>> to_float_variants();

}  // namespace gneiss::kernels
