// x + a * b, a vector of columns at a time: a factor with a value for each group of columns is spread over them from
// one register. Where that does not fit, runs of columns in which each factor is either full or one value.
#include "kernels/mul_add.h"

#include <algorithm>
#include <numeric>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/mul_add.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// y = x + a * b over a run; a factor that is not full has one value.
HWY_INLINE void mul_add_run(std::int64_t length, const float* x, const float* a, bool a_full, const float* b,
                            bool b_full, float* y) {
  if (a_full && b_full) {
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) y[i] = x[i] + a[i] * b[i];
  } else if (a_full || b_full) {
    const float value = a_full ? *b : *a;
    const float* full = a_full ? a : b;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) y[i] = x[i] + full[i] * value;
  } else {
    const float value = *a * *b;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) y[i] = x[i] + value;
  }
}

void mul_add_runs(const MulAddArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.y.cols;
  const bool a_full = args.a.cols == width;
  const bool b_full = args.b.cols == width;
  const std::int64_t a_repeat = width / args.a.cols;
  const std::int64_t b_repeat = width / args.b.cols;
  // Runs end wherever a factor that is not full takes its next value.
  const std::int64_t step = std::gcd(a_full ? width : a_repeat, b_full ? width : b_repeat);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* a = args.a.row(args.a.rows == 1 ? 0 : r);
    const float* b = args.b.row(args.b.rows == 1 ? 0 : r);
    for (std::int64_t j = 0; j < width; j += step) {
      mul_add_run(step, args.x.row(r) + j, a + j / a_repeat, a_full, b + j / b_repeat, b_full, args.y.row(r) + j);
    }
  }
}

constexpr std::int64_t kMostColumns = 1024;

/// Has a factor full rows, or a value for each group of columns that one register holds?
bool fits(const ConstMatrixView<float>& values, std::int64_t width) {
  return values.cols == width || (values.cols <= kLanes && width <= kMostColumns);
}

/// A factor that fits.
template <bool kFull>
class Factor {
 public:
  Factor(const ConstMatrixView<float>& values, std::int64_t width)
      : data_(values.data),
        stride_(values.rows == 1 ? 0 : values.stride),
        used_(hn::FirstN(Tag(), static_cast<std::size_t>(values.cols))) {
    if constexpr (!kFull) {
      const std::int64_t group = width / values.cols;
      for (std::int64_t c = 0; c < std::min(width + kLanes, kMostColumns + kLanes); ++c) {
        group_of_[c] = static_cast<std::int32_t>(std::min(c / group, values.cols - 1));
      }
    }
  }

  /// What `columns` needs of row r.
  HWY_INLINE Vector groups(std::int64_t r) const {
    return kFull ? hn::Zero(Tag()) : hn::MaskedLoad(used_, Tag(), data_ + r * stride_);
  }

  /// A vector of columns from `c` on, of those in `mask`.
  template <class Mask>
  HWY_INLINE Vector columns(std::int64_t r, Vector groups, std::int64_t c, Mask mask) const {
    const Tag d;
    if constexpr (kFull) return hn::MaskedLoad(mask, d, data_ + r * stride_ + c);
    return hn::TableLookupLanes(groups, hn::SetTableIndices(d, group_of_ + c));
  }

 private:
  const float* data_;
  std::int64_t stride_;
  hn::Mask<Tag> used_;
  alignas(64) std::int32_t group_of_[kFull ? 1 : kMostColumns + kLanes];
};

template <bool kAFull, bool kBFull>
void mul_add_rows(const MulAddArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const Tag d;
  // Copies, because what args refers to could change with every store for all that a compiler knows.
  const ConstMatrixView<float> x_rows = args.x;
  const MatrixView<float> y_rows = args.y;
  const std::int64_t width = y_rows.cols;
  const Factor<kAFull> a(args.a, width);
  const Factor<kBFull> b(args.b, width);
  const auto all = hn::FirstN(d, static_cast<std::size_t>(kLanes));
  for (std::int64_t r = begin; r < end; ++r) {
    const Vector a_groups = a.groups(r);
    const Vector b_groups = b.groups(r);
    const float* x = x_rows.row(r);
    float* y = y_rows.row(r);
    std::int64_t c = 0;
    for (; c + kLanes <= width; c += kLanes) {
      hn::StoreU(hn::MulAdd(a.columns(r, a_groups, c, all), b.columns(r, b_groups, c, all), hn::LoadU(d, x + c)), d,
                 y + c);
    }
    if (c == width) continue;
    const auto some = hn::FirstN(d, static_cast<std::size_t>(width - c));
    hn::BlendedStore(
        hn::MulAdd(a.columns(r, a_groups, c, some), b.columns(r, b_groups, c, some), hn::MaskedLoad(some, d, x + c)),
        some, d, y + c);
  }
}

void mul_add_chunk(const MulAddArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.y.cols;
  if (!kMasks || !fits(args.a, width) || !fits(args.b, width)) return mul_add_runs(args, begin, end);
  const bool a_full = args.a.cols == width;
  const bool b_full = args.b.cols == width;
  if (a_full && b_full) return mul_add_rows<true, true>(args, begin, end);
  if (a_full) return mul_add_rows<true, false>(args, begin, end);
  if (b_full) return mul_add_rows<false, true>(args, begin, end);
  mul_add_rows<false, false>(args, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {
namespace {

HWY_EXPORT(mul_add_chunk);

}  // namespace

void mul_add(const Context& context, const MulAddArgs<float>& args) {
  if (args.y.empty()) return;
  parallel_rows(context.threads, args.y.rows, args.y.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(mul_add_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
