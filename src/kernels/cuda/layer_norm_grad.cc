// Backward of layer normalisation (formulas: reference/layer_norm_grad.cc). The gradients of gamma and beta are column
// sums (sums.h); that of x takes two sums over its group: a warp a row, or two numbers of the whole matrix. The
// workspace holds partial sums, then the column sums, then the two numbers.
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

constexpr std::int64_t kRowWarp = 32;

struct Distances {
  OnDevice<LayerNormGradArgs> args;

  __device__ double mean(std::int64_t r) const { return args.mean.data[args.graph_mode ? 0 : r * args.mean.stride]; }
  /// What divides row r.
  __device__ double deviation(std::int64_t r) const {
    const double var = args.var.data[args.graph_mode ? 0 : r * args.var.stride];
    return args.graph_mode ? sqrt(var) + args.eps : sqrt(var + args.eps);
  }
  __device__ double dy(std::int64_t r, std::int64_t c) const { return args.dy.data[r * args.dy.stride + c]; }
  __device__ double slope(std::int64_t r, std::int64_t c) const { return dy(r, c) * args.gamma.data[c]; }
  __device__ double distance(std::int64_t r, std::int64_t c) const {
    return args.x.data[r * args.x.stride + c] - mean(r);
  }
  /// dx from the two sums over its group of `count` elements.
  __device__ void write(std::int64_t r, std::int64_t c, double sum, double product, double count) const {
    const double s = deviation(r);
    const double root = args.graph_mode ? sqrt(static_cast<double>(args.var.data[0])) : s;
    const double steep = root > 0 ? product / (count * s * s * root) : 0;
    args.dx.data[r * args.dx.stride + c] = static_cast<float>((slope(r, c) - sum / count) / s - distance(r, c) * steep);
  }
};

/// Sum 0: of dy times the normalised x; sum 1: of dy.
struct LayerSlope {
  static constexpr int kSums = 2;
  Distances of;
  __device__ double operator()(int which, std::int64_t r, std::int64_t c) const {
    return which == 1 ? of.dy(r, c) : of.dy(r, c) * of.distance(r, c) / of.deviation(r);
  }
};

/// Sum 0: of g = dy * gamma; sum 1: of g times the distance from the mean.
struct GroupSlope {
  static constexpr int kSums = 2;
  Distances of;
  __device__ double operator()(int which, std::int64_t r, std::int64_t c) const {
    return which == 0 ? of.slope(r, c) : of.slope(r, c) * of.distance(r, c);
  }
};

__global__ void slopes_of_rows(Distances of) {
  const std::int64_t cols = of.args.x.cols;
  const std::int64_t lane = threadIdx.x % kRowWarp;
  for (std::int64_t r = first_item() / kRowWarp; r < of.args.x.rows; r += item_step() / kRowWarp) {
    double sum = 0;
    double product = 0;
    for (std::int64_t c = lane; c < cols; c += kRowWarp) {
      sum += of.slope(r, c);
      product += of.slope(r, c) * of.distance(r, c);
    }
    sum = sum_of_lanes(sum, kRowWarp);
    product = sum_of_lanes(product, kRowWarp);
    for (std::int64_t c = lane; c < cols; c += kRowWarp) of.write(r, c, sum, product, static_cast<double>(cols));
  }
}

__global__ void slopes_of_matrix(Distances of, const double* sums) {
  const std::int64_t cols = of.args.x.cols;
  const std::int64_t count = of.args.x.rows * cols;
  for (std::int64_t i = first_item(); i < count; i += item_step())
    of.write(i / cols, i % cols, sums[0], sums[1], static_cast<double>(count));
}

}  // namespace

std::size_t layer_norm_grad_workspace(const OnDevice<LayerNormGradArgs>& args) {
  return (partial_sums(args.x.rows, args.x.cols, 2) + 2 * static_cast<std::size_t>(args.x.cols) + 2) * sizeof(double);
}

void layer_norm_grad(const DeviceContext& context, const OnDevice<LayerNormGradArgs>& args) {
  const std::int64_t rows = args.x.rows;
  const std::int64_t cols = args.x.cols;
  auto* partials = reinterpret_cast<double*>(context.workspace.data);
  double* columns = partials + partial_sums(rows, cols, 2);
  double* numbers = columns + 2 * cols;
  const Distances of{args};
  launch_row_chunks(context, LayerSlope{of}, rows, cols, partials);
  launch(context, join_to_doubles, launch_joins<double>(2 * cols), partials, row_chunks(rows), 2 * cols, 1.0, columns);
  launch(context, round_norm_slopes, launch_over(context, cols), columns, cols, args.dgamma.data, args.dbeta.data);
  if (!args.graph_mode) return launch(context, slopes_of_rows, launch_over(context, rows * kRowWarp), of);
  launch_row_chunks(context, GroupSlope{of}, rows, cols, partials);
  launch(context, join_to_numbers, kOneBlock, partials, row_chunks(rows), cols, 2, 1.0, numbers);
  launch(context, slopes_of_matrix, launch_over(context, rows * cols), of, numbers);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
