// Softmax of edge scores, a thread a node and head: highest score, sum, quotients.
#include "kernels/cuda/math.h"
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void normalise_scores(OnDevice<EdgeSoftmaxArgs> args) {
  const std::int64_t heads = args.e.cols;
  const std::int64_t nodes = static_cast<std::int64_t>(args.offsets.size) - 1;
  for (std::int64_t i = first_item(); i < nodes * heads; i += item_step()) {
    const std::int64_t v = i / heads;
    const std::int64_t h = i - v * heads;
    const EdgeId begin = args.offsets.data[v];
    const EdgeId end = args.offsets.data[v + 1];
    if (begin == end) continue;
    float highest = args.e.data[begin * args.e.stride + h];
    for (EdgeId k = begin + 1; k < end; ++k) {
      const float e = args.e.data[k * args.e.stride + h];
      highest = e > highest ? e : highest;
    }
    double sum = 0;
    for (EdgeId k = begin; k < end; ++k)
      sum += static_cast<double>(edge::exp(args.e.data[k * args.e.stride + h] - highest));
    for (EdgeId k = begin; k < end; ++k) {
      const double weight = edge::exp(args.e.data[k * args.e.stride + h] - highest);
      args.a.data[k * args.a.stride + h] = static_cast<float>(weight / (sum + 1e-16));
    }
  }
}

}  // namespace

void edge_softmax(const DeviceContext& context, const OnDevice<EdgeSoftmaxArgs>& args) {
  const std::int64_t nodes = static_cast<std::int64_t>(args.offsets.size) - 1;
  launch(context, normalise_scores, launch_over(context, nodes * args.e.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
