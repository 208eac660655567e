// Functions of one element.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/math.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// NaN passes through, so that a numeric failure stays visible.
__device__ float apply_unary(Unary fn, float alpha, float shift, float x) {
  switch (fn) {
    case Unary::kAffine:
      return alpha * x + shift;
    case Unary::kRelu:
      return x < 0 ? 0.0F : x;
    case Unary::kLeakyRelu:
      return x > 0 ? x : alpha * x;
    case Unary::kElu:
      return x > 0 ? x : alpha * edge::expm1(x);
    case Unary::kSigmoid:
      return edge::sigmoid(x);
    case Unary::kTanh:
      return edge::tanh(x);
    case Unary::kExp:
      return edge::exp(x);
    case Unary::kLog:
      return static_cast<float>(log_of(static_cast<double>(x)));
    case Unary::kSqrt:
      return sqrtf(x);
    case Unary::kRsqrt:
      return x <= 0 ? 0.0F : 1.0F / sqrtf(x);
  }
  return x;
}

struct OneElement {
  static constexpr int kOperands = 1;
  Spread operands[kOperands];
  Unary fn;
  float alpha;
  float shift;

  __device__ float of(const float* at) const { return apply_unary(fn, alpha, shift, at[0]); }
};

}  // namespace

void unary(const DeviceContext& context, const OnDevice<UnaryArgs>& args) {
  launch_by_place(
      context,
      OneElement{
          {Spread(args.x, args.y.cols)}, args.fn, static_cast<float>(args.alpha), static_cast<float>(args.shift)},
      args.y);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
