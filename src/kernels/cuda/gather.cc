// Rows of nodes copied to their edges, a thread an element.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void copy_rows(OnDevice<GatherArgs> args) {
  const std::int64_t cols = args.e.cols;
  for (std::int64_t i = first_item(); i < args.e.rows * cols; i += item_step()) {
    const std::int64_t k = i / cols;
    const std::int64_t c = i - k * cols;
    const std::int64_t row = args.by_source ? static_cast<std::int64_t>(args.pattern.indices.data[k])
                                            : row_of(args.pattern.offsets.data, args.pattern.rows, k);
    args.e.data[k * args.e.stride + c] = args.x.data[row * args.x.stride + c];
  }
}

}  // namespace

void gather(const DeviceContext& context, const OnDevice<GatherArgs>& args) {
  launch(context, copy_rows, launch_over(context, args.e.rows * args.e.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
