// Rows of edges reduced to nodes: lanes of a node share its columns and walk its edges together, in order.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void reduce_edges(OnDevice<SegmentReduceArgs> args, int lanes) {
  const bool extreme = args.reduce == Reduce::kMax || args.reduce == Reduce::kMin;
  for (std::int64_t i = first_item(); i < args.y.rows * lanes; i += item_step()) {
    const std::int64_t v = i / lanes;
    const EdgeId begin = args.pattern.offsets.data[v];
    const EdgeId end = args.pattern.offsets.data[v + 1];
    for (std::int64_t j = i - v * lanes; j < args.y.cols; j += lanes) {
      float value = 0;
      std::int32_t position = -1;
      for (EdgeId k = begin; k < end; ++k) {
        const EdgeId slot = args.pattern.slots.size == 0 ? k : args.pattern.slots.data[k];
        const float term = args.e.data[slot * args.e.stride + j];
        if (!extreme) {
          value += term;
        } else if (k == begin || (args.reduce == Reduce::kMax ? term > value : term < value)) {
          value = term;
          position = static_cast<std::int32_t>(k - begin);
        }
      }
      if (args.reduce == Reduce::kMean && end > begin) value /= static_cast<float>(end - begin);
      args.y.data[v * args.y.stride + j] = value;
      if (args.arg.data != nullptr) args.arg.data[v * args.arg.stride + j] = position;
    }
  }
}

}  // namespace

void segment_reduce(const DeviceContext& context, const OnDevice<SegmentReduceArgs>& args) {
  const int lanes = lanes_for(args.y.cols);
  launch(context, reduce_edges, launch_over(context, args.y.rows * lanes), args, lanes);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
