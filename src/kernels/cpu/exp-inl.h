// exp over a run of elements, for kernels compiled once for each instruction set (hence the toggled guard).
#if defined(GNEISS_KERNELS_CPU_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GNEISS_KERNELS_CPU_EXP_INL_H
#undef GNEISS_KERNELS_CPU_EXP_INL_H
#else
#define GNEISS_KERNELS_CPU_EXP_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>

#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {

/// y = fn(x) over a run, a vector at a time. y may be x.
template <class Fn>
HWY_INLINE void transform_run(std::int64_t length, const float* x, float* y, const Fn& fn) {
  const Tag d;
  std::int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) hn::StoreU(fn(hn::LoadU(d, x + i)), d, y + i);
  if (i < length) store_first(fn(load_first(x + i, length - i)), y + i, length - i);
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
