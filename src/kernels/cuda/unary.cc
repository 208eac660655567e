// Functions of one element.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {

void unary(const DeviceContext& context, const OnDevice<UnaryArgs>& args) {
  launch_stages(context, stage_of(args), args.y.rows, args.y.cols);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
