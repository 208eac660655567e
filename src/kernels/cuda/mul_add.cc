// x + a * b; the product is rounded before it is added, as everywhere else.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

struct ThreeElements {
  static constexpr int kOperands = 3;
  Spread operands[kOperands];

  __device__ float of(const float* at) const {
    const float product = at[1] * at[2];
    return at[0] + product;
  }
};

}  // namespace

void mul_add(const DeviceContext& context, const OnDevice<MulAddArgs>& args) {
  const std::int64_t width = args.y.cols;
  launch_by_place(context, ThreeElements{{Spread(args.x, width), Spread(args.a, width), Spread(args.b, width)}},
                  args.y);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
