// Clipping by total norm in two launches: a block adds the squares of a run of fixed length up in f64; then every
// block adds the runs up the same way, and scales its elements.
//
// The workspace holds the sum of each run.
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

constexpr std::int64_t kSquareRun = std::int64_t{1} << 14;

__global__ void sum_squares(const float* g, std::int64_t size, double* sums) {
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kSquareRun;
  const std::int64_t end = begin + kSquareRun < size ? begin + kSquareRun : size;
  double mine = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kSumThreads) mine += static_cast<double>(g[i]) * g[i];
  const double total = sum_of_block(mine);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void scale_to_norm(float* g, std::int64_t size, const double* sums, std::int64_t runs, double most,
                              double* norm_to) {
  double mine = 0;
  for (std::int64_t i = threadIdx.x; i < runs; i += kSumThreads) mine += sums[i];
  const double norm = sqrt(sum_of_block(mine));
  if (first_item() == 0 && norm_to != nullptr) *norm_to = norm;
  const double scale = most / (norm + 1e-6);
  if (!(scale < 1)) return;
  for (std::int64_t i = first_item(); i < size; i += item_step()) g[i] *= static_cast<float>(scale);
}

std::int64_t square_runs(const OnDevice<ClipNormArgs>& args) {
  return (static_cast<std::int64_t>(args.g.size) + kSquareRun - 1) / kSquareRun;
}

}  // namespace

std::size_t clip_norm_workspace(const OnDevice<ClipNormArgs>& args) {
  return static_cast<std::size_t>(square_runs(args)) * sizeof(double);
}

void clip_norm(const DeviceContext& context, const OnDevice<ClipNormArgs>& args) {
  const auto size = static_cast<std::int64_t>(args.g.size);
  auto* sums = reinterpret_cast<double*>(context.workspace.data);
  const std::int64_t runs = square_runs(args);
  launch(context, sum_squares, Launch{runs, kSumThreads, kOneBlock.shared_bytes}, args.g.data, size, sums);
  Launch scaling = launch_over(context, std::max<std::int64_t>(size, 1));
  scaling.shared_bytes = kOneBlock.shared_bytes;
  launch(context, scale_to_norm, scaling, args.g.data, size, sums, runs, args.max_norm, args.norm);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
