// A block of columns copied, a thread an element.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void copy_block(OnDevice<CopyColumnsArgs> args) {
  for (std::int64_t i = first_item(); i < args.dst.rows * args.count; i += item_step()) {
    const std::int64_t r = i / args.count;
    const std::int64_t c = i - r * args.count;
    args.dst.data[r * args.dst.stride + args.dst_begin + c] = args.src.data[r * args.src.stride + args.src_begin + c];
  }
}

}  // namespace

void copy_columns(const DeviceContext& context, const OnDevice<CopyColumnsArgs>& args) {
  launch(context, copy_block, launch_over(context, args.dst.rows * args.count), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
