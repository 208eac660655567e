// The gradient of the edge weights of max/min aggregation, a thread an edge.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void sum_won_products(OnDevice<SpmmArgWeightGradArgs> args) {
  for (std::int64_t k = first_item(); k < static_cast<std::int64_t>(args.dw.size); k += item_step()) {
    const std::int64_t v = row_of(args.in_edges.offsets.data, args.in_edges.rows, k);
    const float* x = args.x.data + args.in_edges.indices.data[k] * args.x.stride;
    float sum = 0;
    for (std::int64_t j = 0; j < args.dy.cols; ++j) {
      if (args.arg.data[v * args.arg.stride + j] != k - args.in_edges.offsets.data[v]) continue;
      sum = fmaf(args.dy.data[v * args.dy.stride + j], x[j], sum);
    }
    args.dw.data[k] = sum;
  }
}

}  // namespace

void spmm_arg_weight_grad(const DeviceContext& context, const OnDevice<SpmmArgWeightGradArgs>& args) {
  launch(context, sum_won_products, launch_over(context, static_cast<std::int64_t>(args.dw.size)), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
