// Backward of the functions of one element, a thread an element.
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

__global__ void map_slopes(OnDevice<UnaryGradArgs> args, float alpha) {
  const std::int64_t cols = args.dx.cols;
  for (std::int64_t i = first_item(); i < args.dx.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    const float y = args.y.data[r * args.y.stride + c];
    args.dx.data[r * args.dx.stride + c] = args.dy.data[r * args.dy.stride + c] * slope_of(args.fn, alpha, y);
  }
}

}  // namespace

void unary_grad(const DeviceContext& context, const OnDevice<UnaryGradArgs>& args) {
  launch(context, map_slopes, launch_over(context, args.dx.rows * args.dx.cols), args, static_cast<float>(args.alpha));
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
