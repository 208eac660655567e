// x + a * b; the product is rounded before it is added, as everywhere else.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {

void mul_add(const DeviceContext& context, const OnDevice<MulAddArgs>& args) {
  launch_stages(context, stage_of(args), args.y.rows, args.y.cols);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
