// Backward of batch normalisation: both sums over a column in one launch (sums.h), then a thread an element. The
// workspace holds partial sums, then the gradients of gamma and beta in f64.
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// Sum 0: of dy times the normalised x; sum 1: of dy.
struct BatchSlope {
  static constexpr int kSums = 2;
  OnDevice<BatchNormGradArgs> args;
  __device__ double operator()(int which, std::int64_t r, std::int64_t c) const {
    const double dy = args.dy.data[r * args.dy.stride + c];
    if (which == 1) return dy;
    const double distance = static_cast<double>(args.x.data[r * args.x.stride + c]) - args.mean.data[c];
    return dy * distance / sqrt(args.var.data[c] + args.eps);
  }
};

__global__ void spread_slopes(OnDevice<BatchNormGradArgs> args, const double* sums) {
  const std::int64_t cols = args.x.cols;
  const auto n = static_cast<double>(args.x.rows);
  for (std::int64_t i = first_item(); i < args.x.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    const double inverse = 1 / sqrt(args.var.data[c] + args.eps);
    const double normal = (static_cast<double>(args.x.data[r * args.x.stride + c]) - args.mean.data[c]) * inverse;
    const double centred = args.dy.data[r * args.dy.stride + c] - sums[cols + c] / n - normal * sums[c] / n;
    args.dx.data[r * args.dx.stride + c] = static_cast<float>(args.gamma.data[c] * inverse * centred);
  }
}

}  // namespace

__global__ void round_norm_slopes(const double* sums, std::int64_t cols, float* dgamma, float* dbeta) {
  for (std::int64_t c = first_item(); c < cols; c += item_step()) {
    dgamma[c] = static_cast<float>(sums[c]);
    dbeta[c] = static_cast<float>(sums[cols + c]);
  }
}

std::size_t batch_norm_grad_workspace(const OnDevice<BatchNormGradArgs>& args) {
  return (partial_sums(args.x.rows, args.x.cols, 2) + 2 * static_cast<std::size_t>(args.x.cols)) * sizeof(double);
}

void batch_norm_grad(const DeviceContext& context, const OnDevice<BatchNormGradArgs>& args) {
  const std::int64_t cols = args.x.cols;
  auto* partials = reinterpret_cast<double*>(context.workspace.data);
  double* sums = partials + partial_sums(args.x.rows, cols, 2);
  launch_row_chunks(context, BatchSlope{args}, args.x.rows, cols, partials);
  launch(context, join_to_doubles, launch_joins<double>(2 * cols), partials, row_chunks(args.x.rows), 2 * cols, 1.0,
         sums);
  launch(context, spread_slopes, launch_over(context, args.x.rows * cols), args, sums);
  launch(context, round_norm_slopes, launch_over(context, cols), sums, cols, args.dgamma.data, args.dbeta.data);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
