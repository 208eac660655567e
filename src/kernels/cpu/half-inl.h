// 16-bit values as vectors of f32.
//
// bfloat16 is the upper half of an f32. binary16 has an instruction with AVX2 and AVX-512; elsewhere its exponent is
// moved by a product, as in base/half.h. Widening is exact, so every instruction set gives the same bits.
//
// Included once for each instruction set, inside foreach_target.
#if defined(GNEISS_KERNELS_CPU_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNEISS_KERNELS_CPU_HALF_INL_H_
#undef GNEISS_KERNELS_CPU_HALF_INL_H_
#else
#define GNEISS_KERNELS_CPU_HALF_INL_H_
#endif

#include <hwy/highway.h>

#include "base/half.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// A vector of 16-bit values from memory.
template <HalfType kType, class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> widen(D d, const std::uint16_t* from) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint16_t, D> d16;
  const auto halves = hn::LoadU(d16, from);
  if constexpr (kType == HalfType::kBf16) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, halves)));
  } else {
#if HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::PromoteTo(d, hn::BitCast(dh, halves));
#else
    const auto bits = hn::PromoteTo(du, halves);
    const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7FFFU)));
    const auto scaled = hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112F));
    const auto beyond = hn::VecFromMask(d, hn::Ge(scaled, hn::Set(d, 65536.0F)));
    const auto infinite = hn::And(hn::BitCast(du, beyond), hn::Set(du, 255U << 23));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000U)));
    return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(du, scaled), infinite), sign));
#endif
  }
}

template <HalfType kType>
HWY_INLINE void widen_row_of(const std::uint16_t* from, std::int64_t count, float* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  constexpr std::int64_t kStep = hn::MaxLanes(hn::ScalableTag<float>());
  std::int64_t i = 0;
  for (; i + kStep <= count; i += kStep) hn::StoreU(widen<kType>(d, from + i), d, to + i);
  for (; i < count; ++i) to[i] = from_half(kType, from[i]);
}

/// to[0, count) = from[0, count).
HWY_INLINE void widen_row(HalfType type, const std::uint16_t* from, std::int64_t count, float* to) {
  type == HalfType::kBf16 ? widen_row_of<HalfType::kBf16>(from, count, to)
                          : widen_row_of<HalfType::kF16>(from, count, to);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif  // GNEISS_KERNELS_CPU_HALF_INL_H_
