// The gradient of max/min aggregation, read by source so that nothing is scattered: lanes of a source share its columns
// and walk its out-edges together, in order.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void sum_won_slopes(OnDevice<SpmmArgGradArgs> args, int lanes) {
  for (std::int64_t i = first_item(); i < args.dx.rows * lanes; i += item_step()) {
    const std::int64_t u = i / lanes;
    const EdgeId begin = args.out_edges.offsets.data[u];
    const EdgeId end = args.out_edges.offsets.data[u + 1];
    const bool by_id = args.ids.size != 0;
    for (std::int64_t j = i - u * lanes; j < args.dx.cols; j += lanes) {
      float sum = 0;
      for (EdgeId k = begin; k < end; ++k) {
        const std::int64_t v = args.out_edges.indices.data[k];
        const std::int32_t winner = args.arg.data[v * args.arg.stride + j];
        const float slope = args.dy.data[v * args.dy.stride + j];
        if (by_id) {
          const bool again = k > begin && args.out_edges.indices.data[k - 1] == v;  // of parallel edges one won
          if (!again && winner == args.ids.data[u]) sum += slope;
          continue;
        }
        const EdgeId slot = args.out_edges.slots.size == 0 ? k : args.out_edges.slots.data[k];
        if (winner != slot - args.in_offsets.data[v]) continue;
        sum += (args.w.size == 0 ? 1.0F : args.w.data[slot]) * slope;  // no fmaf: as arg_sources rounds the product
      }
      args.dx.data[u * args.dx.stride + j] = sum;
    }
  }
}

}  // namespace

void spmm_arg_grad(const DeviceContext& context, const OnDevice<SpmmArgGradArgs>& args) {
  const int lanes = lanes_for(args.dx.cols);
  launch(context, sum_won_slopes, launch_over(context, args.dx.rows * lanes), args, lanes);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
