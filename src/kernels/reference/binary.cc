// Functions of two elements, with broadcasting.
#include "kernels/reference/reference.h"

#include <cmath>

namespace gneiss::kernels::reference {
namespace {

/// The element of an operand that meets element (r, c) of a result with `width` columns.
template <class T>
T element(const ConstMatrixView<T>& operand, std::int64_t width, std::int64_t r, std::int64_t c) {
  return operand.at(operand.rows == 1 ? 0 : r, c / (width / operand.cols));
}

/// a op b; a NaN operand gives NaN.
template <class T>
T apply(Binary fn, T a, T b) {
  switch (fn) {
    case Binary::kAdd:
      return a + b;
    case Binary::kSub:
      return a - b;
    case Binary::kMul:
      return a * b;
    case Binary::kDiv:
      return a == 0 && b == 0 ? T(0) : a / b;
    case Binary::kMaximum:
      return a >= b || std::isnan(a) ? a : b;
    case Binary::kMinimum:
      return a <= b || std::isnan(a) ? a : b;
  }
  return a;
}

}  // namespace

template <class T>
void binary(const Context&, const BinaryArgs<T>& args) {
  for (std::int64_t r = 0; r < args.c.rows; ++r) {
    for (std::int64_t c = 0; c < args.c.cols; ++c) {
      args.c.at(r, c) = apply(args.fn, element(args.a, args.c.cols, r, c), element(args.b, args.c.cols, r, c));
    }
  }
}

template void binary<float>(const Context&, const BinaryArgs<float>&);
template void binary<double>(const Context&, const BinaryArgs<double>&);

}  // namespace gneiss::kernels::reference
