// Sums and copies over groups of columns, a row at a time.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/column_groups.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/inner_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

void groups_chunk(const ColumnGroupsArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const bool grows = args.fn == ColumnGroups::kExpandGroups || args.fn == ColumnGroups::kTileHeads;
  const std::int64_t width = (grows ? args.y.cols : args.x.cols) / args.heads;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.x.row(r);
    float* y = args.y.row(r);
    if (args.weights.rows != 0) {
      const float* weights = args.weights.row(args.weights.rows == 1 ? 0 : r);
      inner_products(x, weights, width, args.heads, y);
      continue;
    }
    if (args.fn == ColumnGroups::kSumHeads) std::fill_n(y, width, 0.0F);
    for (std::int64_t h = 0; h < args.heads; ++h) {
      switch (args.fn) {
        case ColumnGroups::kSumGroups: {
          float sum = 0;
#pragma omp simd reduction(+ : sum)
          for (std::int64_t c = 0; c < width; ++c) sum += x[h * width + c];
          y[h] = sum;
          break;
        }
        case ColumnGroups::kExpandGroups:
          std::fill_n(y + h * width, width, x[h]);
          break;
        case ColumnGroups::kSumHeads:
#pragma omp simd
          for (std::int64_t c = 0; c < width; ++c) y[c] += x[h * width + c];
          break;
        case ColumnGroups::kTileHeads:
          std::copy_n(x, width, y + h * width);
          break;
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(groups_chunk);

void column_groups(const Context& context, const ColumnGroupsArgs<float>& args) {
  parallel_rows(context.threads, args.x.rows, std::max(args.x.cols, args.y.cols),
                [&](std::int64_t begin, std::int64_t end) {
                  HWY_DYNAMIC_DISPATCH(groups_chunk)
                  (args, begin, end);
                });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
