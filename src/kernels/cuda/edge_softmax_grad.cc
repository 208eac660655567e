// Backward of the softmax of edge scores, a thread a node and head.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void slopes_of_scores(OnDevice<EdgeSoftmaxGradArgs> args) {
  const std::int64_t heads = args.a.cols;
  const std::int64_t nodes = static_cast<std::int64_t>(args.offsets.size) - 1;
  for (std::int64_t i = first_item(); i < nodes * heads; i += item_step()) {
    const std::int64_t v = i / heads;
    const std::int64_t h = i - v * heads;
    double sum = 0;
    for (EdgeId k = args.offsets.data[v]; k < args.offsets.data[v + 1]; ++k)
      sum += static_cast<double>(args.a.data[k * args.a.stride + h]) * args.da.data[k * args.da.stride + h];
    for (EdgeId k = args.offsets.data[v]; k < args.offsets.data[v + 1]; ++k) {
      const double a = args.a.data[k * args.a.stride + h];
      args.de.data[k * args.de.stride + h] = static_cast<float>(a * (args.da.data[k * args.da.stride + h] - sum));
    }
  }
}

}  // namespace

void edge_softmax_grad(const DeviceContext& context, const OnDevice<EdgeSoftmaxGradArgs>& args) {
  const std::int64_t nodes = static_cast<std::int64_t>(args.offsets.size) - 1;
  launch(context, slopes_of_scores, launch_over(context, nodes * args.a.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
