// Functions of two elements.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// A NaN operand gives NaN.
__device__ float apply_binary(Binary fn, float a, float b) {
  switch (fn) {
    case Binary::kAdd:
      return a + b;
    case Binary::kSub:
      return a - b;
    case Binary::kMul:
      return a * b;
    case Binary::kDiv:
      return a == 0 && b == 0 ? 0.0F : a / b;
    case Binary::kMaximum:
      return a >= b || a != a ? a : b;
    case Binary::kMinimum:
      return a <= b || a != a ? a : b;
  }
  return a;
}

struct TwoElements {
  static constexpr int kOperands = 2;
  Spread operands[kOperands];
  Binary fn;

  __device__ float of(const float* at) const { return apply_binary(fn, at[0], at[1]); }
};

}  // namespace

void binary(const DeviceContext& context, const OnDevice<BinaryArgs>& args) {
  const std::int64_t width = args.c.cols;
  launch_by_place(context, TwoElements{{Spread(args.a, width), Spread(args.b, width)}, args.fn}, args.c);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
