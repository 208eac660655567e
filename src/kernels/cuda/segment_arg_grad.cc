// Backward of max/min over rows of edges, a thread an element: the winner of each column gets the gradient.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void slopes_of_edges(OnDevice<SegmentArgGradArgs> args) {
  const std::int64_t cols = args.de.cols;
  for (std::int64_t i = first_item(); i < args.de.rows * cols; i += item_step()) {
    const std::int64_t k = i / cols;
    const std::int64_t j = i - k * cols;
    const std::int64_t v = row_of(args.offsets.data, args.dy.rows, k);
    const bool won = args.arg.data[v * args.arg.stride + j] == k - args.offsets.data[v];
    args.de.data[k * args.de.stride + j] = won ? args.dy.data[v * args.dy.stride + j] : 0.0F;
  }
}

}  // namespace

void segment_arg_grad(const DeviceContext& context, const OnDevice<SegmentArgGradArgs>& args) {
  launch(context, slopes_of_edges, launch_over(context, args.de.rows * args.de.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
