// Sums in f64 of vectors of f32, for kernels compiled once for each instruction set (hence the toggled guard).
#if defined(GNEISS_KERNELS_CPU_WIDE_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNEISS_KERNELS_CPU_WIDE_SUMS_INL_H_
#undef GNEISS_KERNELS_CPU_WIDE_SUMS_INL_H_
#else
#define GNEISS_KERNELS_CPU_WIDE_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {

using WideTag = hn::Repartition<double, Tag>;

/// fn(part) for each vector of f64 that the lanes of x fill.
template <class Fn>
HWY_INLINE void for_each_wide(Vector x, const Fn& fn) {
  const WideTag wide;
  const hn::Rebind<float, WideTag> narrow;
  alignas(64) float lanes[kLanes];
  hn::Store(x, Tag(), lanes);
  for (std::int64_t i = 0; i < kLanes; i += static_cast<std::int64_t>(hn::MaxLanes(narrow))) {
    fn(hn::PromoteTo(wide, hn::Load(narrow, lanes + i)));
  }
}

class WideSum {
 public:
  HWY_INLINE WideSum() : sums_(hn::Zero(WideTag())) {}
  HWY_INLINE void add(Vector x) {
    for_each_wide(x, [this](hn::Vec<WideTag> part) HWY_ATTR { sums_ = hn::Add(sums_, part); });
  }
  HWY_INLINE double total() const { return hn::GetLane(hn::SumOfLanes(WideTag(), sums_)); }

 private:
  hn::Vec<WideTag> sums_;
};

/// The sum of log(1 + x) for 0 <= x <= 1 (NaN stays NaN), as the logarithms of few products.
class WideLog1pSum {
 public:
  HWY_INLINE WideLog1pSum() : product_(hn::Set(WideTag(), 1.0)) {}
  HWY_INLINE void add(Vector x) {
    for_each_wide(x, [this](hn::Vec<WideTag> part) HWY_ATTR { product_ = hn::MulAdd(product_, part, product_); });
    if (++count_ == kMost) finish();
  }
  double total() {
    finish();
    return sum_;
  }

 private:
  static constexpr int kMost = 500;  ///< two factors of at most 2 each: below 2^1001

  void finish() {
    const WideTag wide;
    alignas(64) double lanes[hn::MaxLanes(WideTag())];
    hn::Store(product_, wide, lanes);
    for (const double lane : lanes) sum_ += std::log(lane);
    product_ = hn::Set(wide, 1.0);
    count_ = 0;
  }

  hn::Vec<WideTag> product_;
  int count_ = 0;
  double sum_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif  // GNEISS_KERNELS_CPU_WIDE_SUMS_INL_H_
