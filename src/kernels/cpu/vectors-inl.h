// Vectors of f32 and their first lanes, for kernels compiled once for each instruction set (hence the toggled guard).
#if defined(GNEISS_KERNELS_CPU_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNEISS_KERNELS_CPU_VECTORS_INL_H_
#undef GNEISS_KERNELS_CPU_VECTORS_INL_H_
#else
#define GNEISS_KERNELS_CPU_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
/// Whether a masked load touches no memory beyond its lanes (not on SSE4 and NEON). AVX2 is safe for 32-bit elements.
constexpr bool kMasks = HWY_MEM_OPS_MIGHT_FAULT == 0 || HWY_TARGET == HWY_AVX2;

/// The first `count` lanes from memory, zeros after them.
HWY_INLINE Vector load_first(const float* from, std::int64_t count) {
  const Tag d;
  if constexpr (kMasks) return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
  alignas(64) float lanes[kLanes] = {};
  std::copy_n(from, count, lanes);
  return hn::Load(d, lanes);
}

/// Stores the first `count` lanes.
HWY_INLINE void store_first(Vector value, float* to, std::int64_t count) {
  const Tag d;
  if constexpr (kMasks) return hn::BlendedStore(value, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
  alignas(64) float lanes[kLanes];
  hn::Store(value, d, lanes);
  std::copy_n(lanes, count, to);
}

/// x, but 0 where it is subnormal: processors take a hundred times as long over such numbers, in every product that
/// follows.
HWY_INLINE Vector without_subnormals(Vector x) {
  const Tag d;
  return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), hn::Set(d, std::numeric_limits<float>::min())), x);
}

}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif  // GNEISS_KERNELS_CPU_VECTORS_INL_H_
