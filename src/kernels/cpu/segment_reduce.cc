// Rows of edges reduced to nodes: the output row stays in L1 while its edges are added or compared.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/segment_reduce.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

void sum_row(const SegmentReduceArgs<float>& args, EdgeId begin, EdgeId end, float* y) {
  const std::int64_t d = args.y.cols;
  std::fill_n(y, d, 0.0F);
  for (EdgeId k = begin; k < end; ++k) {
    const float* e = args.e.row(args.pattern.slot(k));
#pragma omp simd
    for (std::int64_t j = 0; j < d; ++j) y[j] += e[j];
  }
  if (args.reduce == Reduce::kSum || begin == end) return;
  const float scale = 1.0F / static_cast<float>(end - begin);
#pragma omp simd
  for (std::int64_t j = 0; j < d; ++j) y[j] *= scale;
}

template <bool kMaximum>
void extreme_row(const SegmentReduceArgs<float>& args, EdgeId begin, EdgeId end, float* y, std::int32_t* arg) {
  const std::int64_t d = args.y.cols;
  std::fill_n(y, d, 0.0F);
  if (arg != nullptr) std::fill_n(arg, d, begin < end ? 0 : -1);
  if (begin < end) std::copy_n(args.e.row(args.pattern.slot(begin)), d, y);
  for (EdgeId k = begin + 1; k < end; ++k) {
    const float* e = args.e.row(args.pattern.slot(k));
    const auto position = static_cast<std::int32_t>(k - begin);
    for (std::int64_t j = 0; j < d; ++j) {
      const bool wins = kMaximum ? e[j] > y[j] : e[j] < y[j];
      if (!wins) continue;
      y[j] = e[j];
      if (arg != nullptr) arg[j] = position;
    }
  }
}

void reduce_chunk(const SegmentReduceArgs<float>& args, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t v = row_begin; v < row_end; ++v) {
    const EdgeId begin = args.pattern.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = args.pattern.offsets[static_cast<std::size_t>(v) + 1];
    std::int32_t* arg = args.arg.data == nullptr ? nullptr : args.arg.row(v);
    switch (args.reduce) {
      case Reduce::kSum:
      case Reduce::kMean:
        sum_row(args, begin, end, args.y.row(v));
        break;
      case Reduce::kMax:
        extreme_row<true>(args, begin, end, args.y.row(v), arg);
        break;
      case Reduce::kMin:
        extreme_row<false>(args, begin, end, args.y.row(v), arg);
        break;
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(reduce_chunk);

void segment_reduce(const Context& context, const SegmentReduceArgs<float>& args) {
  parallel_edge_rows(context.threads, args.pattern.offsets, args.y.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(reduce_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
