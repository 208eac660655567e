// Values rounded to 16 bits, a thread an element.
#include "kernels/cuda/half.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void narrow_elements(OnDevice<ToHalfArgs> args) {
  const std::int64_t cols = args.x.cols;
  for (std::int64_t i = first_item(); i < args.x.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    args.y.data[r * args.y.stride + c] = narrow(args.y.type, args.x.data[r * args.x.stride + c]);
  }
}

}  // namespace

void to_half(const DeviceContext& context, const OnDevice<ToHalfArgs>& args) {
  launch(context, narrow_elements, launch_over(context, args.x.rows * args.x.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
