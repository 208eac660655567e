// Functions of two elements, with broadcasting.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace gneiss::kernels {

enum class Binary : std::uint8_t { kAdd, kSub, kMul, kDiv, kMaximum, kMinimum };

template <class T, Space S = Space::kHost>
struct BinaryArgs {
  Binary fn = Binary::kAdd;
  ConstMatrixView<T, S> a;
  ConstMatrixView<T, S> b;
  MatrixView<T, S> c;
};

/// c = a op b. An operand with 1 row is used for every row; an operand with fewer columns H than the result's W repeats
/// each column W/H times (column j reads j / (W/H)): one column is a scalar per row, H columns are one per head. div: 0
/// / 0 = 0 (an empty mean). maximum, minimum: operands of the result's shape. Shapes    c: [n,w]; a, b: [n or 1,
/// divisor of w]. Aliasing c may be an operand of its own shape. Errors kShape
template <class T>
void binary(const Context& context, const BinaryArgs<T>& args);

template <class T>
std::span<const Variant<BinaryArgs<T>>> binary_variants();

}  // namespace gneiss::kernels
