// Layer normalisation. Over each row: a warp a row, sums in f64 over its lanes. Over the whole matrix: column sums
// (sums.h) joined to two numbers, then a thread an element. The workspace, of the latter alone, holds partial sums,
// then mean and variance in f64.
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

constexpr std::int64_t kWarpLanes = 32;

struct AnyElement {
  static constexpr int kSums = 1;
  ConstMatrixView<float, Space::kDevice> x;
  __device__ double operator()(int, std::int64_t r, std::int64_t c) const { return x.data[r * x.stride + c]; }
};

struct DistanceFromOne {
  static constexpr int kSums = 1;
  ConstMatrixView<float, Space::kDevice> x;
  const double* mean;
  __device__ double operator()(int, std::int64_t r, std::int64_t c) const {
    const double distance = x.data[r * x.stride + c] - *mean;
    return distance * distance;
  }
};

__device__ void scale_and_shift(const OnDevice<LayerNormArgs>& args, std::int64_t r, std::int64_t c, double mean,
                                double deviation) {
  const double normal = (args.x.data[r * args.x.stride + c] - mean) / deviation;
  args.y.data[r * args.y.stride + c] = static_cast<float>(normal * args.gamma.data[c] + args.beta.data[c]);
}

__global__ void normalise_rows(OnDevice<LayerNormArgs> args) {
  const std::int64_t cols = args.x.cols;
  const std::int64_t lane = threadIdx.x % kWarpLanes;
  for (std::int64_t r = first_item() / kWarpLanes; r < args.x.rows; r += item_step() / kWarpLanes) {
    const float* x = args.x.data + r * args.x.stride;
    double sum = 0;
    for (std::int64_t c = lane; c < cols; c += kWarpLanes) sum += x[c];
    const double mean = sum_of_lanes(sum, kWarpLanes) / static_cast<double>(cols);
    double squares = 0;
    for (std::int64_t c = lane; c < cols; c += kWarpLanes) squares += (x[c] - mean) * (x[c] - mean);
    const double var = sum_of_lanes(squares, kWarpLanes) / static_cast<double>(cols);
    const double deviation = sqrt(var + args.eps);
    for (std::int64_t c = lane; c < cols; c += kWarpLanes) scale_and_shift(args, r, c, mean, deviation);
    if (lane != 0) continue;
    args.mean.data[r * args.mean.stride] = static_cast<float>(mean);
    args.var.data[r * args.var.stride] = static_cast<float>(var);
  }
}

__global__ void normalise_matrix(OnDevice<LayerNormArgs> args, const double* mean, const double* var) {
  const std::int64_t cols = args.x.cols;
  const double deviation = sqrt(*var) + args.eps;
  for (std::int64_t i = first_item(); i < args.x.rows * cols; i += item_step())
    scale_and_shift(args, i / cols, i % cols, *mean, deviation);
}

__global__ void round_numbers(const double* mean, const double* var, float* mean_to, float* var_to) {
  if (first_item() != 0) return;
  *mean_to = static_cast<float>(*mean);
  *var_to = static_cast<float>(*var);
}

void layer_norm_of_matrix(const DeviceContext& context, const OnDevice<LayerNormArgs>& args) {
  const std::int64_t cols = args.x.cols;
  const std::int64_t chunks = row_chunks(args.x.rows);
  const double share = 1.0 / static_cast<double>(std::max<std::int64_t>(1, args.x.rows * cols));
  auto* partials = reinterpret_cast<double*>(context.workspace.data);
  double* mean = partials + partial_sums(args.x.rows, cols, 1);
  double* var = mean + 1;
  launch_row_chunks(context, AnyElement{args.x}, args.x.rows, cols, partials);
  launch(context, join_to_numbers, kOneBlock, partials, chunks, cols, 1, share, mean);
  launch_row_chunks(context, DistanceFromOne{args.x, mean}, args.x.rows, cols, partials);
  launch(context, join_to_numbers, kOneBlock, partials, chunks, cols, 1, share, var);
  launch(context, normalise_matrix, launch_over(context, args.x.rows * cols), args, mean, var);
  launch(context, round_numbers, launch_over(context, 1), mean, var, args.mean.data, args.var.data);
}

}  // namespace

std::size_t layer_norm_workspace(const OnDevice<LayerNormArgs>& args) {
  return args.graph_mode ? (partial_sums(args.x.rows, args.x.cols, 1) + 2) * sizeof(double) : 0;
}

void layer_norm(const DeviceContext& context, const OnDevice<LayerNormArgs>& args) {
  if (args.graph_mode) return layer_norm_of_matrix(context, args);
  launch(context, normalise_rows, launch_over(context, args.x.rows * kWarpLanes), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
