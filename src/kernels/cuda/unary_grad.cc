// Backward of the functions of one element.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// fn'(x) written in terms of y = fn(x).
__device__ float slope_of(Unary fn, float alpha, float y) {
  switch (fn) {
    case Unary::kRelu:
      return y > 0 ? 1.0F : 0.0F;
    case Unary::kLeakyRelu:
      return y > 0 ? 1.0F : alpha;
    case Unary::kElu:
      return y > 0 ? 1.0F : y + alpha;
    case Unary::kSigmoid:
      return y * (1 - y);
    case Unary::kTanh:
      return 1 - y * y;
    case Unary::kExp:
      return y;
    case Unary::kSqrt:
      return y == 0 ? 0.0F : 0.5F / y;
    case Unary::kRsqrt:
      return -0.5F * y * y * y;
    case Unary::kAffine:
    case Unary::kLog:
      break;  // the contract refuses them
  }
  return 0;
}

struct ElementSlope {
  static constexpr int kOperands = 2;
  Spread operands[kOperands];  ///< y, dy
  Unary fn;
  float alpha;

  __device__ float of(const float* at) const { return at[1] * slope_of(fn, alpha, at[0]); }
};

}  // namespace

void unary_grad(const DeviceContext& context, const OnDevice<UnaryGradArgs>& args) {
  const std::int64_t width = args.dx.cols;
  launch_by_place(
      context, ElementSlope{{Spread(args.y, width), Spread(args.dy, width)}, args.fn, static_cast<float>(args.alpha)},
      args.dx);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
