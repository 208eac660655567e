// Backward of max/min segment_reduce: every edge compares its position with the winners of its row.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/segment_arg_grad.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

void grad_chunk(const SegmentArgGradArgs<float>& args, std::int64_t row_begin, std::int64_t row_end) {
  const std::int64_t d = args.dy.cols;
  for (std::int64_t v = row_begin; v < row_end; ++v) {
    const EdgeId begin = args.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = args.offsets[static_cast<std::size_t>(v) + 1];
    const std::int32_t* arg = args.arg.row(v);
    const float* dy = args.dy.row(v);
    for (EdgeId k = begin; k < end; ++k) {
      float* de = args.de.row(k);
      const auto position = static_cast<std::int32_t>(k - begin);
#pragma omp simd
      for (std::int64_t j = 0; j < d; ++j) de[j] = arg[j] == position ? dy[j] : 0.0F;
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

void segment_arg_grad(const Context& context, const SegmentArgGradArgs<float>& args) {
  parallel_edge_rows(context.threads, args.offsets, args.dy.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(grad_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
