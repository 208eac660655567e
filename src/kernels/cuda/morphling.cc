// Morphling's kernels for cards, as its paper has them, to be measured beside ours. A row has a block, whose threads
// take its columns: a row of 32 columns leaves one warp a block, and a hub's row is walked by one block. The weight
// gradient of sparse features is scattered from their rows by atomics, which add in another order in every run. Source:
// Morphling, section IV-D.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/variants.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

constexpr std::int64_t kMostThreads = 256;

__global__ void sum_row_by_block(OnDevice<SpmmArgs> args, const __grid_constant__ Epilogue epilogue) {
  const std::int64_t v = blockIdx.x;
  const EdgeId begin = args.pattern.offsets.data[v];
  const EdgeId end = args.pattern.offsets.data[v + 1];
  const std::int64_t width = args.y.cols / args.heads;
  float factor = args.reduce == Reduce::kMean && end > begin ? 1.0F / static_cast<float>(end - begin) : 1.0F;
  if (args.scales.rows != 0) factor *= args.scales.data[v * args.scales.stride];
  for (std::int64_t j = threadIdx.x; j < args.y.cols; j += blockDim.x) {
    float sum = 0;
    for (EdgeId k = begin; k < end; ++k) {
      const float x = args.x.data[args.pattern.indices.data[k] * args.x.stride + j];
      if (args.w.size == 0) {
        sum += x;
      } else {
        const EdgeId slot = args.pattern.slots.size == 0 ? k : args.pattern.slots.data[k];
        sum = fmaf(args.w.data[slot * args.heads + j / width], x, sum);
      }
    }
    sum *= factor;
    if (args.y.data != nullptr) args.y.data[v * args.y.stride + j] = sum;
    run_epilogue<1>(epilogue, v, static_cast<std::uint32_t>(j), &sum);
  }
}

__global__ void fill_with_zeros(MatrixView<float, Space::kDevice> c) {
  for (std::int64_t i = first_item(); i < c.rows * c.cols; i += item_step())
    c.data[i / c.cols * c.stride + i % c.cols] = 0;
}

__global__ void scatter_row_by_block(OnDevice<ImplicitTransposeArgs> args) {
  const std::int64_t i = blockIdx.x;
  for (EdgeId k = args.x.offsets.data[i]; k < args.x.offsets.data[i + 1]; ++k) {
    const float value = args.values.data[args.x.slots.size == 0 ? k : args.x.slots.data[k]];
    float* const to = args.dw.data + args.x.indices.data[k] * args.dw.stride;
    for (std::int64_t j = threadIdx.x; j < args.dw.cols; j += blockDim.x)
      atomicAdd(to + j, value * args.dy.data[i * args.dy.stride + j]);
  }
}

Launch block_for_each(std::int64_t rows, std::int64_t cols) {
  const std::int64_t warps = std::clamp<std::int64_t>((cols + 31) / 32, 1, kMostThreads / 32);
  return {rows, static_cast<unsigned>(warps * 32), 0};
}

}  // namespace

void spmm_morphling(const DeviceContext& context, const OnDevice<SpmmArgs>& args) {
  launch(context, sum_row_by_block, block_for_each(args.y.rows, args.y.cols), args, epilogue_of(context));
}

std::string_view spmm_morphling_declines(const OnDevice<SpmmArgs>& args) {
  if (args.reduce == Reduce::kMax || args.reduce == Reduce::kMin) return "it adds alone";
  if (args.x_half.type != HalfType::kNone) return "it reads f32 alone";
  return {};
}

void spx_gemm_morphling(const DeviceContext& context, const OnDevice<SpxGemmArgs>& args) {
  OnDevice<SpmmArgs> sums;
  sums.pattern = args.a;
  sums.x = args.b;
  sums.w = args.values;
  sums.y = args.c;
  spmm_morphling(context, sums);
}

void implicit_transpose(const DeviceContext& context, const OnDevice<ImplicitTransposeArgs>& args) {
  launch(context, fill_with_zeros, launch_over(context, args.dw.rows * args.dw.cols), args.dw);
  launch(context, scatter_row_by_block, block_for_each(args.x.rows, args.dw.cols), args);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
