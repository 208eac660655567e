// Functions of two elements.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {

void binary(const DeviceContext& context, const OnDevice<BinaryArgs>& args) {
  launch_stages(context, stage_of(args), args.c.rows, args.c.cols);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
