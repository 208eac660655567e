// Backward of the functions of one element, through double.
#include "kernels/reference/reference.h"

namespace gneiss::kernels::reference {
namespace {

/// fn'(x) written in terms of y = fn(x).
double slope(Unary fn, double alpha, double y) {
  switch (fn) {
    case Unary::kRelu:
      return y > 0 ? 1 : 0;
    case Unary::kLeakyRelu:
      return y > 0 ? 1 : alpha;
    case Unary::kElu:
      return y > 0 ? 1 : y + alpha;
    case Unary::kSigmoid:
      return y * (1 - y);
    case Unary::kTanh:
      return 1 - y * y;
    case Unary::kExp:
      return y;
    case Unary::kSqrt:
      return y == 0 ? 0 : 0.5 / y;
    case Unary::kRsqrt:
      return -0.5 * y * y * y;
    case Unary::kAffine:
    case Unary::kLog:
      break;  // the contract refuses them
  }
  return 0;
}

}  // namespace

template <class T>
void unary_grad(const Context&, const UnaryGradArgs<T>& args) {
  for (std::int64_t r = 0; r < args.y.rows; ++r) {
    for (std::int64_t c = 0; c < args.y.cols; ++c) {
      args.dx.at(r, c) = static_cast<T>(args.dy.at(r, c) * slope(args.fn, args.alpha, args.y.at(r, c)));
    }
  }
}

template void unary_grad<float>(const Context&, const UnaryGradArgs<float>&);
template void unary_grad<double>(const Context&, const UnaryGradArgs<double>&);

}  // namespace gneiss::kernels::reference
