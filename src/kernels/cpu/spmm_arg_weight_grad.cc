// Gradient of the edge weights of max/min aggregation: an inner product over the columns that the edge won.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/spmm_arg_weight_grad.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

void grad_chunk(const SpmmArgWeightGradArgs<float>& args, std::int64_t row_begin, std::int64_t row_end) {
  const std::int64_t d = args.dy.cols;
  for (std::int64_t v = row_begin; v < row_end; ++v) {
    const EdgeId begin = args.in_edges.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = args.in_edges.offsets[static_cast<std::size_t>(v) + 1];
    const std::int32_t* arg = args.arg.row(v);
    const float* dy = args.dy.row(v);
    for (EdgeId k = begin; k < end; ++k) {
      const float* x = args.x.row(args.in_edges.indices[static_cast<std::size_t>(k)]);
      const auto position = static_cast<std::int32_t>(k - begin);
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = 0; j < d; ++j) sum += arg[j] == position ? dy[j] * x[j] : 0.0F;
      args.dw[static_cast<std::size_t>(k)] = sum;
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(grad_chunk);

void spmm_arg_weight_grad(const Context& context, const SpmmArgWeightGradArgs<float>& args) {
  parallel_edge_rows(context.threads, args.in_edges.offsets, args.dy.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(grad_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
