// Inner products of short runs, for kernels compiled once for each instruction set (hence the toggled guard).
#if defined(GNEISS_KERNELS_CPU_INNER_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GNEISS_KERNELS_CPU_INNER_PRODUCT_INL_H
#undef GNEISS_KERNELS_CPU_INNER_PRODUCT_INL_H
#else
#define GNEISS_KERNELS_CPU_INNER_PRODUCT_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Products of whole vectors of D from i on, of which there is one at least, summed lane by lane; moves i behind them.
/// Two sums side by side hide the latency of adding.
template <class D>
HWY_INLINE hn::Vec<D> summed_products(D d, const float* a, const float* b, std::int64_t length, std::int64_t& i) {
  constexpr std::int64_t lanes = hn::MaxLanes(D());
  auto even = hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
  auto odd = hn::Zero(d);
  i += lanes;
  for (; i + 2 * lanes <= length; i += 2 * lanes) {
    odd = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), odd);
    even = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), even);
  }
  if (i + lanes <= length) {
    odd = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), odd);
    i += lanes;
  }
  return hn::Add(even, odd);
}

/// <a, b> of whole vectors of D from i on; moves i behind them.
template <class D>
HWY_INLINE float whole_vectors_product(D d, const float* a, const float* b, std::int64_t length, std::int64_t& i) {
  constexpr std::int64_t lanes = hn::MaxLanes(D());
  return i + lanes > length ? 0 : hn::GetLane(hn::SumOfLanes(d, summed_products(d, a, b, length, i)));
}

/// <a, b>: whole vectors, then eights, fours and single elements, so that the short runs of a head need no wide sum.
HWY_INLINE float inner_product(const float* a, const float* b, std::int64_t length) {
  std::int64_t i = 0;
  float sum = whole_vectors_product(hn::ScalableTag<float>(), a, b, length, i);
  if (i < length) sum += whole_vectors_product(hn::CappedTag<float, 8>(), a, b, length, i);
  if (i < length) sum += whole_vectors_product(hn::CappedTag<float, 4>(), a, b, length, i);
  for (; i < length; ++i) sum += a[i] * b[i];
  return sum;
}

#if HWY_TARGET != HWY_SCALAR
/// Sums of neighbouring lanes, of `low` first.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V add_neighbours(D d, V low, V high) {
  return hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
}
#endif

/// Inner products of `count` runs of `length` side by side, to `to`. Four runs of eight are summed together.
HWY_INLINE void inner_products(const float* a, const float* b, std::int64_t length, std::int64_t count, float* to) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<float, 8> d;
  if constexpr (hn::MaxLanes(hn::CappedTag<float, 8>()) == 8) {
    for (; length == 8 && i + 4 <= count; i += 4) {
      const auto product = [&](std::int64_t run)
                               HWY_ATTR { return hn::Mul(hn::LoadU(d, a + run * 8), hn::LoadU(d, b + run * 8)); };
      const auto first = add_neighbours(d, product(i), product(i + 1));
      const auto second = add_neighbours(d, product(i + 2), product(i + 3));
      const auto pairs = add_neighbours(d, first, second);
      hn::StoreU(hn::LowerHalf(add_neighbours(d, pairs, pairs)), hn::Half<decltype(d)>(), to + i);
    }
  }
#endif
  for (; i < count; ++i) to[i] = inner_product(a + i * length, b + i * length, length);
}

/// Sixteen inner products of runs of eight, for vectors of sixteen: of the kHeads runs of each of the rows that start
/// at a(0), a(1), … and b(0), b(1), …. Each has the bits of inner_products.
template <int kHeads, class A, class B>
HWY_INLINE auto products_of_eights([[maybe_unused]] const A& a, [[maybe_unused]] const B& b) {
  const hn::ScalableTag<float> d;
  const auto product = [&](int pair) HWY_ATTR {
    const int row = 2 * pair / kHeads;
    const int column = 2 * pair % kHeads * 8;
    return hn::Mul(hn::LoadU(d, a(row) + column), hn::LoadU(d, b(row) + column));
  };
  const auto four = [&](int pair) HWY_ATTR { return add_neighbours(d, product(pair), product(pair + 1)); };
  const auto eight = [&](int pair) HWY_ATTR { return add_neighbours(d, four(pair), four(pair + 2)); };
  return add_neighbours(d, eight(0), eight(4));
}

#if HWY_TARGET != HWY_SCALAR
/// Sixteen inner products of runs of `length`, a multiple of sixteen, for vectors of sixteen: of the rows that start at
/// a(0), a(1), … and b(0), b(1), ….
template <class A, class B>
HWY_INLINE auto sixteen_products(const A& a, const B& b, std::int64_t length) {
  const hn::ScalableTag<float> d;
  const hn::Repartition<double, decltype(d)> two_floats;
  using V = hn::Vec<decltype(d)>;
  // Half of the lanes of each row is added to the other half, then half of those that are left, with rows side by side
  // as they get narrower.
  const auto row = [&](int r) HWY_ATTR {
    std::int64_t i = 0;
    return summed_products(d, a(r), b(r), length, i);
  };
  const auto eights = [&](int r, int other) HWY_ATTR {
    const V low = row(r);
    const V high = row(other);
    return hn::Add(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low));
  };
  const auto fours = [&](int r) HWY_ATTR {
    const V even = eights(r, r + 2);
    const V odd = eights(r + 1, r + 3);
    return hn::Add(hn::OddEvenBlocks(odd, even), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(even, odd)));
  };
  const auto pairs = [&](int r) HWY_ATTR {
    const auto low = hn::BitCast(two_floats, fours(r));
    const auto high = hn::BitCast(two_floats, fours(r + 4));
    return hn::Add(hn::BitCast(d, hn::ConcatEven(two_floats, high, low)),
                   hn::BitCast(d, hn::ConcatOdd(two_floats, high, low)));
  };
  const V low = pairs(0);
  return add_neighbours(d, low, pairs(8));
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
