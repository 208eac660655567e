// Backward of the functions of one element.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {

void unary_grad(const DeviceContext& context, const OnDevice<UnaryGradArgs>& args) {
  launch_stages(context, stage_of(args), args.dx.rows, args.dx.cols);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
