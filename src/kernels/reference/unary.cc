// Functions of one element, through double.
#include "kernels/reference/reference.h"

#include <cmath>

namespace gneiss::kernels::reference {
namespace {

/// fn(x). NaN passes through relu and leaky_relu, so that a numeric failure stays visible.
double apply(Unary fn, double alpha, double shift, double x) {
  switch (fn) {
    case Unary::kAffine:
      return alpha * x + shift;
    case Unary::kRelu:
      return x < 0 ? 0 : x;
    case Unary::kLeakyRelu:
      return x > 0 ? x : alpha * x;
    case Unary::kElu:
      return x > 0 ? x : alpha * std::expm1(x);
    case Unary::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Unary::kTanh:
      return std::tanh(x);
    case Unary::kExp:
      return std::exp(x);
    case Unary::kLog:
      return std::log(x);
    case Unary::kSqrt:
      return std::sqrt(x);
    case Unary::kRsqrt:
      return x <= 0 ? 0 : 1 / std::sqrt(x);
  }
  return x;
}

}  // namespace

template <class T>
void unary(const Context&, const UnaryArgs<T>& args) {
  for (std::int64_t r = 0; r < args.x.rows; ++r) {
    for (std::int64_t c = 0; c < args.x.cols; ++c) {
      args.y.at(r, c) = static_cast<T>(apply(args.fn, args.alpha, args.shift, args.x.at(r, c)));
    }
  }
}

template void unary<float>(const Context&, const UnaryArgs<float>&);
template void unary<double>(const Context&, const UnaryArgs<double>&);

}  // namespace gneiss::kernels::reference
