// Sums and copies over groups of columns, a row at a time.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/column_groups.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/inner_product-inl.h"
#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Inner products of rows of kHeads runs of eight from `begin` on, some rows at a time; returns the first row that is
/// left.
template <int kHeads>
std::int64_t sum_eights([[maybe_unused]] const ColumnGroupsArgs<float>& args, std::int64_t begin,
                        [[maybe_unused]] std::int64_t end) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes == 16) {
    constexpr std::int64_t kRows = 16 / kHeads;
    const std::int64_t weight_stride = args.weights.rows == 1 ? 0 : args.weights.stride;
    for (; begin + kRows <= end; begin += kRows) {
      const float* x = args.x.row(begin);
      const float* weights = args.weights.data + begin * weight_stride;
      const auto sums = products_of_eights<kHeads>([&](int r) { return x + r * args.x.stride; },
                                                   [&](int r) { return weights + r * weight_stride; });
      if (args.y.stride == kHeads) {
        hn::StoreU(sums, Tag(), args.y.row(begin));
        continue;
      }
      alignas(64) float lanes[16];
      hn::Store(sums, Tag(), lanes);
      for (std::int64_t r = 0; r < kRows; ++r) std::copy_n(lanes + r * kHeads, kHeads, args.y.row(begin + r));
    }
  }
#endif
  return begin;
}

/// Inner products of whole rows of `width` columns from `begin` on, sixteen at a time; returns the first row that is
/// left. The last ones are summed in the same order, so that a row's product does not depend on where a chunk ends.
std::int64_t sum_whole_rows([[maybe_unused]] const ColumnGroupsArgs<float>& args, [[maybe_unused]] std::int64_t width,
                            std::int64_t begin, [[maybe_unused]] std::int64_t end) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes == 16) {
    if (width == 0 || width % kLanes != 0) return begin;
    constexpr std::int64_t kRows = 16;
    const std::int64_t weight_stride = args.weights.rows == 1 ? 0 : args.weights.stride;
    for (; begin < end; begin += kRows) {
      const std::int64_t rows = std::min(kRows, end - begin);
      const float* x = args.x.row(begin);
      const float* weights = args.weights.data + begin * weight_stride;
      const auto within = [&](int r) { return std::min<std::int64_t>(r, rows - 1); };
      const auto sums = rows == kRows
                            ? sixteen_products([&](int r) { return x + r * args.x.stride; },
                                               [&](int r) { return weights + r * weight_stride; }, width)
                            : sixteen_products([&](int r) { return x + within(r) * args.x.stride; },
                                               [&](int r) { return weights + within(r) * weight_stride; }, width);
      alignas(64) float lanes[kRows];
      hn::Store(sums, Tag(), lanes);
      for (std::int64_t r = 0; r < rows; ++r) *args.y.row(begin + r) = lanes[r];
    }
    return end;
  }
#endif
  return begin;
}

void groups_chunk(const ColumnGroupsArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const bool grows = args.fn == ColumnGroups::kExpandGroups || args.fn == ColumnGroups::kTileHeads;
  const std::int64_t width = (grows ? args.y.cols : args.x.cols) / args.heads;
  if (args.weights.rows != 0 && width == 8 && args.heads == 4) begin = sum_eights<4>(args, begin, end);
  if (args.weights.rows != 0 && width == 8 && args.heads == 8) begin = sum_eights<8>(args, begin, end);
  if (args.weights.rows != 0 && args.heads == 1) begin = sum_whole_rows(args, width, begin, end);
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
