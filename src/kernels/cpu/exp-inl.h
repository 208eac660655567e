// exp over a run of elements, for kernels compiled once for each instruction set (hence the toggled guard).
#if defined(GNEISS_KERNELS_CPU_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GNEISS_KERNELS_CPU_EXP_INL_H
#undef GNEISS_KERNELS_CPU_EXP_INL_H
#else
#define GNEISS_KERNELS_CPU_EXP_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// y = fn(x) over a run, a vector at a time; the last partial vector goes through a buffer. y may be x.
template <class Fn>
HWY_INLINE void transform_run(std::int64_t length, const float* x, float* y, const Fn& fn) {
  const hn::ScalableTag<float> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<float>());
  std::int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) hn::StoreU(fn(hn::LoadU(d, x + i)), d, y + i);
  if (i == length) return;
  alignas(64) float tail[kLanes] = {};
  std::copy_n(x + i, length - i, tail);
  hn::Store(fn(hn::Load(d, tail)), d, tail);
  std::copy_n(tail, length - i, y + i);
}

/// exp(x - shift); NaN stays NaN.
struct ExpOf {
  float shift = 0;
  template <class V>
  HWY_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Sub(x, hn::Set(d, shift))));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
