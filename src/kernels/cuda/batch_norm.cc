// Batch normalisation: mean, then the mean of squared distances from it, by column sums in f64 (sums.h); then a thread
// an element. The workspace holds partial sums, then mean and variance in f64.
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

struct PlainElement {
  static constexpr int kSums = 1;
  ConstMatrixView<float, Space::kDevice> x;
  __device__ double operator()(int, std::int64_t r, std::int64_t c) const { return x.data[r * x.stride + c]; }
};

struct SquaredDistance {
  static constexpr int kSums = 1;
  ConstMatrixView<float, Space::kDevice> x;
  const double* mean;
  __device__ double operator()(int, std::int64_t r, std::int64_t c) const {
    const double distance = x.data[r * x.stride + c] - mean[c];
    return distance * distance;
  }
};

__global__ void normalise_columns(OnDevice<BatchNormArgs> args, const double* mean, const double* var) {
  const std::int64_t cols = args.x.cols;
  for (std::int64_t i = first_item(); i < args.x.rows * cols; i += item_step()) {
    const std::int64_t r = i / cols;
    const std::int64_t c = i - r * cols;
    const double scale = args.gamma.data[c] / sqrt(var[c] + args.eps);
    args.y.data[r * args.y.stride + c] =
        static_cast<float>((args.x.data[r * args.x.stride + c] - mean[c]) * scale + args.beta.data[c]);
  }
}

__global__ void round_statistics(const double* mean, const double* var, std::int64_t cols, float* mean_to,
                                 float* var_to) {
  for (std::int64_t c = first_item(); c < cols; c += item_step()) {
    mean_to[c] = static_cast<float>(mean[c]);
    var_to[c] = static_cast<float>(var[c]);
  }
}

}  // namespace

std::size_t batch_norm_workspace(const OnDevice<BatchNormArgs>& args) {
  return (partial_sums(args.x.rows, args.x.cols, 1) + 2 * static_cast<std::size_t>(args.x.cols)) * sizeof(double);
}

void batch_norm(const DeviceContext& context, const OnDevice<BatchNormArgs>& args) {
  const std::int64_t cols = args.x.cols;
  const std::int64_t chunks = row_chunks(args.x.rows);
  const double share = 1.0 / static_cast<double>(std::max<std::int64_t>(1, args.x.rows));
  auto* partials = reinterpret_cast<double*>(context.workspace.data);
  double* mean = partials + partial_sums(args.x.rows, cols, 1);
  double* var = mean + cols;
  const Launch by_column = launch_over(context, cols);
  launch_row_chunks(context, PlainElement{args.x}, args.x.rows, cols, partials);
  launch(context, join_to_doubles, launch_joins<double>(cols), partials, chunks, cols, share, mean);
  launch_row_chunks(context, SquaredDistance{args.x, mean}, args.x.rows, cols, partials);
  launch(context, join_to_doubles, launch_joins<double>(cols), partials, chunks, cols, share, var);
  launch(context, normalise_columns, launch_over(context, args.x.rows * cols), args, mean, var);
  launch(context, round_statistics, by_column, mean, var, cols, args.mean.data, args.var.data);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
