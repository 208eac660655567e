// Sparse rows times a dense matrix: lanes of a row share its columns and walk its entries together, in order. The
// weight gradient is the same product on the transposed copy, so that nothing is scattered.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void multiply_sparse(OnDevice<SpxGemmArgs> args, int lanes) {
  for (std::int64_t i = first_item(); i < args.c.rows * lanes; i += item_step()) {
    const std::int64_t r = i / lanes;
    const EdgeId begin = args.a.offsets.data[r];
    const EdgeId end = args.a.offsets.data[r + 1];
    for (std::int64_t j = i - r * lanes; j < args.c.cols; j += lanes) {
      float sum = 0;
      for (EdgeId k = begin; k < end; ++k) {
        const EdgeId slot = args.a.slots.size == 0 ? k : args.a.slots.data[k];
        sum = fmaf(args.values.data[slot], args.b.data[args.a.indices.data[k] * args.b.stride + j], sum);
      }
      args.c.data[r * args.c.stride + j] = sum;
    }
  }
}

}  // namespace

void spx_gemm(const DeviceContext& context, const OnDevice<SpxGemmArgs>& args) {
  const int lanes = lanes_for(args.c.cols);
  launch(context, multiply_sparse, launch_over(context, args.c.rows * lanes), args, lanes);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
