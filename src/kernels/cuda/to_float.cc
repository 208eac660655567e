// 16-bit values widened, a thread an element.
#include "kernels/cuda/half.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void widen_elements(OnDevice<ToFloatArgs> args) {
  const std::int64_t cols = args.y.cols;
  for (std::int64_t i = first_item(); i < args.y.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    args.y.data[r * args.y.stride + c] = widen(args.x.type, args.x.data[r * args.x.stride + c]);
  }
}

}  // namespace

void to_float(const DeviceContext& context, const OnDevice<ToFloatArgs>& args) {
  launch(context, widen_elements, launch_over(context, args.y.rows * args.y.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
