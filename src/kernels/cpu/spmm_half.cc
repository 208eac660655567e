// Sums and means of 16-bit rows: the output row's panel in f32 registers while its edges stream by.
//
// As spmm.cc, with rows widened as they are loaded, in panels of 16, 8, 4, 2 and 1 vectors and a last one that
// is not full: features are aggregated once, in the setup phase, so few widths are compiled. Sums take the same steps
// as spmm.cc on widened rows, and so give the same bits; 16-bit results are rounded from them.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/fetch_ahead.h"
#include "kernels/cpu/parallel_rows.h"
#include "kernels/cpu/round_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/spmm_half.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/half-inl.h"
#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Rows [begin, end) of y and the columns from `column` on.
struct Task {
  const SpmmArgs<float>& args;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t column;
};

/// A vector whose lanes from `count` on are zeros.
template <HalfType kType>
HWY_INLINE hn::Vec<Tag> widen_first(const std::uint16_t* from, std::int64_t count) {
  alignas(64) std::uint16_t lanes[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return widen<kType>(Tag(), lanes);
}

/// One panel; kPartial: of one vector, with the columns that are left.
template <HalfType kType, int kVectors, bool kWeighted, bool kPartial>
void sum_panel(const Task& task) {
  const Tag d;
  const SpmmArgs<float>& args = task.args;
  const SparsePattern& pattern = args.pattern;
  const std::uint16_t* x = args.x_half.data + task.column;
  const std::int64_t stride = args.x_half.stride;
  const EdgeId last = pattern.nonzeros() - 1;
  const std::int64_t width = kPartial ? args.y.cols - task.column : kVectors * kLanes;
  const auto ahead = FetchAhead::from_memory(width * static_cast<std::int64_t>(sizeof(std::uint16_t)));
  const auto row_of = [&](EdgeId k) {
    return x + pattern.indices[static_cast<std::size_t>(std::min(k, last))] * stride;
  };
  const RowFactors<float> factors(args);
  alignas(64) float row[kVectors * kLanes];
  for (std::int64_t v = task.begin; v < task.end; ++v) {
    const EdgeId first = pattern.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = pattern.offsets[static_cast<std::size_t>(v) + 1];
    hn::Vec<Tag> sum[kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) sum[i] = hn::Zero(d);
    for (EdgeId k = first; k < end; ++k) {
      const std::uint16_t* far = row_of(k + ahead.far);
      const std::uint16_t* near = row_of(k + ahead.near);
      for (std::int64_t c = 0; c < width; c += 32) {
        prefetch_far(far + c);
        prefetch(near + c);
      }
      const std::uint16_t* from = row_of(k);
      auto weight = hn::Zero(d);
      if constexpr (kWeighted) weight = hn::Set(d, args.w[static_cast<std::size_t>(pattern.slot(k))]);
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) {
        const auto value = kPartial ? widen_first<kType>(from, width) : widen<kType>(d, from + i * kLanes);
        sum[i] = kWeighted ? hn::MulAdd(weight, value, sum[i]) : hn::Add(sum[i], value);
      }
    }
    const auto scale = hn::Set(d, factors.of(v));
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) hn::Store(hn::Mul(sum[i], scale), d, row + i * kLanes);
    if (args.y_half.used()) {
      round_row(args.y_half.type, row, width, args.y_half.row(v) + task.column);
    } else {
      std::copy_n(row, width, args.y.row(v) + task.column);
    }
  }
}

/// As many panels of kVectors vectors as fit in the columns that are left, then narrower ones.
template <HalfType kType, int kVectors, bool kWeighted>
void sweep_panels(Task task) {
  constexpr std::int64_t kWidth = kVectors * kLanes;
  for (; task.column + kWidth <= task.args.y.cols; task.column += kWidth) {
    sum_panel<kType, kVectors, kWeighted, false>(task);
  }
  if constexpr (kVectors > 1) {
    sweep_panels<kType, kVectors / 2, kWeighted>(task);
  } else if (task.column < task.args.y.cols) {
    sum_panel<kType, 1, kWeighted, true>(task);
  }
}

template <HalfType kType>
void sweep(const Task& task) {
  constexpr int kMost = HWY_TARGET <= HWY_AVX3 ? 16 : 8;
  task.args.w.empty() ? sweep_panels<kType, kMost, false>(task) : sweep_panels<kType, kMost, true>(task);
}

void sum_rows_of_halves(const SpmmArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const Task task{args, begin, end, 0};
  args.x_half.type == HalfType::kBf16 ? sweep<HalfType::kBf16>(task) : sweep<HalfType::kF16>(task);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(sum_rows_of_halves);

void spmm_half(const Context& context, const SpmmArgs<float>& args) {
  parallel_edge_rows(context.threads, args.pattern.offsets, args.y.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(sum_rows_of_halves)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
