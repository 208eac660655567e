// Sparse rows written out densely: zeros first, then a thread a row adds its entries in order.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void clear_dense(MatrixView<float, Space::kDevice> y) {
  for (std::int64_t i = first_item(); i < y.rows * y.cols; i += item_step()) {
    const std::int64_t r = i / y.cols;
    y.data[r * y.stride + (i - r * y.cols)] = 0;
  }
}

__global__ void add_entries(OnDevice<ToDenseArgs> args) {
  for (std::int64_t r = first_item(); r < args.dst.rows; r += item_step()) {
    for (EdgeId k = args.a.offsets.data[r]; k < args.a.offsets.data[r + 1]; ++k) {
      const EdgeId slot = args.a.slots.size == 0 ? k : args.a.slots.data[k];
      args.dst.data[r * args.dst.stride + args.a.indices.data[k]] += args.values.data[slot];
    }
  }
}

}  // namespace

void to_dense(const DeviceContext& context, const OnDevice<ToDenseArgs>& args) {
  launch(context, clear_dense, launch_over(context, args.dst.rows * args.dst.cols), args.dst);
  launch(context, add_entries, launch_over(context, args.dst.rows), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
