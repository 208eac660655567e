// sddmm on the CPU: a vector inner product an edge and head, with the rows of x prefetched as in spmm.
//
// The sum across the lanes of a vector costs as much as some ten products, so heads narrower than half a vector are
// multiplied together over the whole row and their products added one by one.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/sddmm.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
constexpr bool kMasks = HWY_MEM_OPS_MIGHT_FAULT == 0 || HWY_TARGET == HWY_AVX2;

HWY_INLINE float inner_product(const float* a, const float* b, std::int64_t length) {
  const Tag d;
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= length; i += 2 * kLanes) {
    even = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), even);
    odd = hn::MulAdd(hn::LoadU(d, a + i + kLanes), hn::LoadU(d, b + i + kLanes), odd);
  }
  if (i + kLanes <= length) {
    even = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), even);
    i += kLanes;
  }
  float rest = 0;
  if constexpr (kMasks) {
    if (i < length) {
      const auto tail = hn::FirstN(d, static_cast<std::size_t>(length - i));
      odd = hn::MulAdd(hn::MaskedLoad(tail, d, a + i), hn::MaskedLoad(tail, d, b + i), odd);
    }
  } else {
    for (; i < length; ++i) rest += a[i] * b[i];
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd))) + rest;
}

/// e[h] = inner product of the columns of head h, for heads of at most kNarrow columns.
constexpr std::int64_t kNarrow = kLanes / 2;
HWY_INLINE void narrow_heads(const float* a, const float* b, std::int64_t heads, std::int64_t head_width, float* e) {
  constexpr std::int64_t kBuffer = 256;
  alignas(64) float products[kBuffer];
  const std::int64_t step = kBuffer / head_width;
  for (std::int64_t first = 0; first < heads; first += step) {
    const std::int64_t count = std::min(step, heads - first);
    const std::int64_t column = first * head_width;
#pragma omp simd
    for (std::int64_t i = 0; i < count * head_width; ++i) products[i] = a[column + i] * b[column + i];
    for (std::int64_t h = 0; h < count; ++h) {
      float sum = 0;
      for (std::int64_t c = 0; c < head_width; ++c) sum += products[h * head_width + c];
      e[first + h] = sum;
    }
  }
}

void sddmm_chunk(const SddmmArgs<float>& args, std::int64_t row_begin, std::int64_t row_end) {
  const NodeId* indices = args.pattern.indices.data();
  const EdgeId last = args.pattern.nonzeros() - 1;
  const std::int64_t width = args.x.cols;
  const std::int64_t head_width = width / args.heads;
  const bool narrow = args.heads > 1 && head_width > 0 && head_width <= kNarrow;
  const EdgeId ahead = std::clamp<std::int64_t>(16384 / std::max<std::int64_t>(1, 4 * width), 4, 32);
  for (std::int64_t v = row_begin; v < row_end; ++v) {
    const float* y = args.y.row(v);
    const EdgeId end = args.pattern.offsets[static_cast<std::size_t>(v) + 1];
    for (EdgeId k = args.pattern.offsets[static_cast<std::size_t>(v)]; k < end; ++k) {
      const float* later = args.x.row(indices[std::min(k + ahead, last)]);
      for (std::int64_t c = 0; c < width; c += 16) hwy::Prefetch(later + c);
      const float* x = args.x.row(indices[k]);
      float* e = args.e.row(k);
      if (narrow) {
        narrow_heads(y, x, args.heads, head_width, e);
        continue;
      }
      for (std::int64_t h = 0; h < args.heads; ++h) {
        e[h] = inner_product(y + h * head_width, x + h * head_width, head_width);
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

HWY_EXPORT(sddmm_chunk);

void sddmm(const Context& context, const SddmmArgs<float>& args) {
  parallel_edge_rows(context.threads, args.pattern.offsets, args.x.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(sddmm_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
