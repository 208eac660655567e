// Inner products of the two ends of every edge, a thread an edge and head.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void dot_ends(OnDevice<SddmmArgs> args) {
  const std::int64_t width = args.x.cols / args.heads;
  for (std::int64_t i = first_item(); i < args.e.rows * args.heads; i += item_step()) {
    const std::int64_t k = i / args.heads;
    const std::int64_t head = i - k * args.heads;
    const std::int64_t v = row_of(args.pattern.offsets.data, args.pattern.rows, k);
    const float* y = args.y.data + v * args.y.stride + head * width;
    const float* x = args.x.data + args.pattern.indices.data[k] * args.x.stride + head * width;
    float sum = 0;
    for (std::int64_t j = 0; j < width; ++j) sum = fmaf(y[j], x[j], sum);
    args.e.data[k * args.e.stride + head] = sum;
  }
}

}  // namespace

void sddmm(const DeviceContext& context, const OnDevice<SddmmArgs>& args) {
  launch(context, dot_ends, launch_over(context, args.e.rows * args.heads), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
