// Column sums in f64 (sums.h).
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

struct WeightedElement {
  static constexpr int kSums = 1;
  OnDevice<SumRowsArgs> args;

  __device__ double operator()(int, std::int64_t r, std::int64_t c) const {
    const double x = args.x.data[r * args.x.stride + c];
    return args.weights.rows == 0 ? x : x * args.weights.data[broadcast(args.weights, args.x.cols, r, c)];
  }
};

__global__ void join_to_row(const double* partials, std::int64_t chunks, std::int64_t cols, float* y) {
  const std::int64_t c = joined_column();
  const double total = join_chunks(partials, chunks, cols, c);
  if (threadIdx.x < kJoinedCols && c < cols) y[c] = static_cast<float>(total);
}

}  // namespace

std::size_t sum_rows_workspace(const OnDevice<SumRowsArgs>& args) {
  return partial_sums(args.x.rows, args.x.cols, 1) * sizeof(double);
}

void sum_rows(const DeviceContext& context, const OnDevice<SumRowsArgs>& args) {
  auto* partials = reinterpret_cast<double*>(context.workspace.data);
  launch_row_chunks(context, WeightedElement{args}, args.x.rows, args.x.cols, partials);
  launch(context, join_to_row, launch_joins<double>(args.x.cols), partials, row_chunks(args.x.rows), args.x.cols,
         args.y.data);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
