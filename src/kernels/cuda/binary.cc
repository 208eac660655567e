// Functions of two elements, a thread an element.
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

__global__ void combine_two(OnDevice<BinaryArgs> args) {
  const std::int64_t cols = args.c.cols;
  for (std::int64_t i = first_item(); i < args.c.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    const float a = args.a.data[broadcast(args.a, cols, r, c)];
    const float b = args.b.data[broadcast(args.b, cols, r, c)];
    args.c.data[r * args.c.stride + c] = apply_binary(args.fn, a, b);
  }
}

}  // namespace

void binary(const DeviceContext& context, const OnDevice<BinaryArgs>& args) {
  launch(context, combine_two, launch_over(context, args.c.rows * args.c.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
