// Winners by the ids of their nodes, a thread an element.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void name_winners(OnDevice<ArgSourcesArgs> args) {
  const std::int64_t cols = args.arg.cols;
  for (std::int64_t i = first_item(); i < args.arg.rows * cols; i += item_step()) {
    const std::int64_t v = i / cols;
    const std::int64_t j = i - v * cols;
    const std::int32_t position = args.arg.data[v * args.arg.stride + j];
    std::int32_t source = -1;
    float weighed = 0;
    if (position >= 0) {
      const EdgeId k = args.in_edges.offsets.data[v] + position;
      source = static_cast<std::int32_t>(args.ids.data[args.in_edges.indices.data[k]]);
      if (args.weighed.rows != 0) weighed = args.w.data[k] * args.dy.data[v * args.dy.stride + j];
    }
    args.source.data[v * args.source.stride + j] = source;
    if (args.weighed.rows != 0) args.weighed.data[v * args.weighed.stride + j] = weighed;
  }
}

}  // namespace

void arg_sources(const DeviceContext& context, const OnDevice<ArgSourcesArgs>& args) {
  launch(context, name_winners, launch_over(context, args.arg.rows * args.arg.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
