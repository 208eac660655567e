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

/// exp(rest) - 1 for |rest| <= ln 2 / 2; the polynomial is that of Cephes' expf.
HWY_INLINE Vector expm1_of_rest(Vector rest) {
  const Tag d;
  auto series = hn::Set(d, 1.9875691500e-4F);
  for (const float next : {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F}) {
    series = hn::MulAdd(series, rest, hn::Set(d, next));
  }
  return hn::MulAdd(series, hn::Mul(rest, rest), rest);
}

/// x = power * ln 2 + rest, power a whole number.
struct PowerAndRest {
  Vector scale;  ///< 2^(power + kExtra)
  Vector rest;
};
template <int kExtra>
HWY_INLINE PowerAndRest split_power(Vector x) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  const auto rounding =
      hn::Set(d, 12582912.0F + 127 + kExtra);  // 1.5 * 2^23: the last bits of a sum with it are those of an integer
  const auto rounded = hn::MulAdd(x, hn::Set(d, 1.44269504F), rounding);
  const auto power = hn::Sub(rounded, rounding);
  const auto rest =
      hn::NegMulAdd(power, hn::Set(d, -2.12194440e-4F), hn::NegMulAdd(power, hn::Set(d, 0.693359375F), x));
  return {hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, rounded))), rest};
}

/// exp(x) for x <= 40, to two units in the last place; NaN stays NaN. Half the instructions of ExpOf.
HWY_INLINE Vector exp_of_score(Vector x) {
  const Tag d;
  const PowerAndRest parts = split_power<64>(x);  // the scale is a number, not subnormal, though the result be so
  const auto value = hn::Add(expm1_of_rest(parts.rest), hn::Set(d, 1.0F));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -104.0F)), hn::Mul(hn::Mul(value, parts.scale), hn::Set(d, 0x1p-64F)));
}

/// exp(x) - 1 for x <= 0, to two units in the last place.
HWY_INLINE Vector expm1_of_negative(Vector x) {
  const Tag d;
  const PowerAndRest parts = split_power<0>(hn::Max(x, hn::Set(d, -32.0F)));  // -1 from -17.4 on
  return hn::MulAdd(expm1_of_rest(parts.rest), parts.scale, hn::Sub(parts.scale, hn::Set(d, 1.0F)));
}

}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
