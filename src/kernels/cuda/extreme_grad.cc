// Backward of maximum and minimum, a thread an element: the winner gets the gradient, of equals the first.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void slopes_of_winners(OnDevice<ExtremeGradArgs> args) {
  const std::int64_t cols = args.dx.cols;
  for (std::int64_t i = first_item(); i < args.dx.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    const float a = args.a.data[r * args.a.stride + c];
    const float b = args.b.data[r * args.b.stride + c];
    const bool first_wins = args.maximum ? a >= b : a <= b;
    args.dx.data[r * args.dx.stride + c] = first_wins == args.first ? args.dy.data[r * args.dy.stride + c] : 0.0F;
  }
}

}  // namespace

void extreme_grad(const DeviceContext& context, const OnDevice<ExtremeGradArgs>& args) {
  launch(context, slopes_of_winners, launch_over(context, args.dx.rows * args.dx.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
