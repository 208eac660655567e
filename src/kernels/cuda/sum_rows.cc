// Column sums in f64: a block adds up a chunk of rows of fixed length over 32 columns, eight rows side by side; a
// second kernel adds the chunks in order.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

constexpr std::int64_t kRowChunk = 1024;
constexpr std::int64_t kPanelCols = 32;
constexpr std::int64_t kRowLanes = 8;

__global__ void sum_chunks(OnDevice<SumRowsArgs> args, std::int64_t panels, double* partials) {
  auto* sums = shared_memory<double>();  // [kRowLanes][kPanelCols]
  const std::int64_t chunk = blockIdx.x / panels;
  const std::int64_t c = (blockIdx.x - chunk * panels) * kPanelCols + threadIdx.x % kPanelCols;
  const std::int64_t end = (chunk + 1) * kRowChunk < args.x.rows ? (chunk + 1) * kRowChunk : args.x.rows;
  double sum = 0;
  if (c < args.x.cols) {
    for (std::int64_t r = chunk * kRowChunk + threadIdx.x / kPanelCols; r < end; r += kRowLanes) {
      const double x = args.x.data[r * args.x.stride + c];
      sum += args.weights.rows == 0 ? x : x * args.weights.data[broadcast(args.weights, args.x.cols, r, c)];
    }
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= kPanelCols || c >= args.x.cols) return;
  double total = 0;
  for (std::int64_t row = 0; row < kRowLanes; ++row) total += sums[row * kPanelCols + threadIdx.x];
  partials[chunk * args.x.cols + c] = total;
}

__global__ void join_chunks(const double* partials, std::int64_t chunks, std::int64_t cols, float* y) {
  for (std::int64_t c = first_item(); c < cols; c += item_step()) {
    double sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += partials[chunk * cols + c];
    y[c] = static_cast<float>(sum);
  }
}

std::int64_t chunks_of(const OnDevice<SumRowsArgs>& args) { return (args.x.rows + kRowChunk - 1) / kRowChunk; }

}  // namespace

std::size_t sum_rows_workspace(const OnDevice<SumRowsArgs>& args) {
  return static_cast<std::size_t>(chunks_of(args) * args.x.cols) * sizeof(double);
}

void sum_rows(const DeviceContext& context, const OnDevice<SumRowsArgs>& args) {
  auto* partials = reinterpret_cast<double*>(context.workspace.data);
  const std::int64_t chunks = chunks_of(args);
  const std::int64_t panels = (args.x.cols + kPanelCols - 1) / kPanelCols;
  const Launch shape{chunks * panels, static_cast<unsigned>(kRowLanes * kPanelCols),
                     static_cast<std::size_t>(kRowLanes * kPanelCols) * sizeof(double)};
  launch(context, sum_chunks, shape, args, panels, partials);
  launch(context, join_chunks, launch_over(context, args.x.cols), partials, chunks, args.x.cols, args.y.data);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
