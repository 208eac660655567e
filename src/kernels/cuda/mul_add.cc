// x + a * b, a thread an element; the product is rounded before it is added, as everywhere else.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void combine_three(OnDevice<MulAddArgs> args) {
  const std::int64_t cols = args.y.cols;
  for (std::int64_t i = first_item(); i < args.y.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    const float product = args.a.data[broadcast(args.a, cols, r, c)] * args.b.data[broadcast(args.b, cols, r, c)];
    args.y.data[r * args.y.stride + c] = args.x.data[r * args.x.stride + c] + product;
  }
}

}  // namespace

void mul_add(const DeviceContext& context, const OnDevice<MulAddArgs>& args) {
  launch(context, combine_three, launch_over(context, args.y.rows * args.y.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
