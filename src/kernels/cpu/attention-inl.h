// What attention and its backward share: two weighted sums over the edges of a row in one pass, for kernels compiled
// once for each instruction set (hence the toggled guard).
//
// Edges come in batches of at most kBatch: the caller fills one weight per edge and head for each of the two sums, in a
// small buffer, with vectors over edges x heads; then the rows of the other end stream by once and both sums are
// accumulated in registers.
#if defined(GNEISS_KERNELS_CPU_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GNEISS_KERNELS_CPU_ATTENTION_INL_H
#undef GNEISS_KERNELS_CPU_ATTENTION_INL_H
#else
#define GNEISS_KERNELS_CPU_ATTENTION_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <utility>

#include "base/matrix_view.h"
#include "kernels/attention.h"
#include "kernels/cpu/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace attention {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
/// Where a masked load may fault (SSE4, NEON), tails go through a buffer. AVX2 is safe for 32-bit elements.
constexpr bool kMasks = HWY_MEM_OPS_MIGHT_FAULT == 0 || HWY_TARGET == HWY_AVX2;
/// Columns of a panel: two sums of this many vectors, and what they are made of, fit the registers.
constexpr int kMostVectors = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
constexpr std::int64_t kMostColumns = kMostVectors * kLanes;
/// Values (edges x heads) of a batch, and edges at most.
constexpr std::int64_t kBatchValues = kMostAttentionHeads;
constexpr std::int64_t kBatchEdges = 32;

inline std::int64_t batch_edges(std::int64_t heads) { return std::min(kBatchEdges, kBatchValues / heads); }

/// Weights of a batch, edge after edge, `heads` values an edge; a little slack for whole vectors.
struct Batch {
  alignas(64) float plain[kBatchValues + 64];  ///< of the first sum
  alignas(64) float steep[kBatchValues + 64];  ///< of the second sum, where the gradient of the leaky ReLU joins in
};

/// Four values in a register (the compiler's own vectors: arithmetic and ?: work as on one value).
using Four = float __attribute__((vector_size(16)));

/// One value per head. Where the number of heads is known and a multiple of four it lives in registers, else in memory.
template <int kHeads>
struct PerHead {
  static constexpr bool kInFours = kHeads > 0 && kHeads % 4 == 0;
  using Part = std::conditional_t<kInFours, Four, float>;
  static constexpr int kParts = kHeads == 0 ? kMostAttentionHeads : kInFours ? kHeads / 4 : kHeads;
  Part of[kParts];

  static std::size_t bytes(std::int64_t heads) {
    return sizeof(float) * static_cast<std::size_t>(kHeads > 0 ? kHeads : heads);
  }
  static HWY_INLINE PerHead load(const float* from, std::int64_t heads) {
    PerHead values;
    std::memcpy(values.of, from, bytes(heads));
    return values;
  }
  HWY_INLINE void store(float* to, std::int64_t heads) const { std::memcpy(to, of, bytes(heads)); }
  /// Every value becomes fn(it, others...); fn takes floats or Fours.
  template <class Fn, class... Others>
  HWY_INLINE void update(std::int64_t heads, const Fn& fn, const Others&... others) {
    if constexpr (kHeads > 0) {
#pragma GCC unroll 8
      for (int i = 0; i < kParts; ++i) of[i] = fn(of[i], others.of[i]...);
    } else {
      for (std::int64_t h = 0; h < heads; ++h) of[h] = fn(of[h], others.of[h]...);
    }
  }
  /// exp of every value, where they lie in registers.
  HWY_INLINE void exponentiate() {
    static_assert(kInFours);
    const ExpOf exp;
    const hn::CappedTag<float, 4> d;
    constexpr int kStep = hn::MaxLanes(hn::CappedTag<float, 4>());
    for (Part& part : of) {
      for (int i = 0; i < 4; i += kStep) {
        float* at = reinterpret_cast<float*>(&part) + i;
        hn::StoreU(exp(hn::LoadU(d, at)), d, at);
      }
    }
  }
  HWY_INLINE void fill(float value, std::int64_t heads) {
    update(heads, [value](auto) { return Part{} + value; });
  }
};

/// plain = exp(plain), steep = exp(plain) * steep.
HWY_INLINE void exponentiate(Batch& batch, std::int64_t values) {
  const Tag d;
  const ExpOf exp;
  for (std::int64_t i = 0; i < values; i += kLanes) {
    const auto weight = exp(hn::Load(d, batch.plain + i));
    hn::Store(weight, d, batch.plain + i);
    hn::Store(hn::Mul(weight, hn::Load(d, batch.steep + i)), d, batch.steep + i);
  }
}

/// Multiplies both weights of edge i of the batch.
template <int kHeads>
HWY_INLINE void scale_edge(Batch& batch, std::int64_t i, const float* factors, std::int64_t heads) {
  using Values = PerHead<kHeads>;
  const Values by = Values::load(factors, heads);
  for (float* weights : {batch.plain + i * heads, batch.steep + i * heads}) {
    Values scaled = Values::load(weights, heads);
    scaled.update(
        heads, [](auto w, auto f) { return w * f; }, by);
    scaled.store(weights, heads);
  }
}

/// Lane i: base[node * stride], for the nodes at `nodes`; lanes from `count` on repeat the first node.
HWY_INLINE Vector gather_nodes(const float* base, std::int64_t stride, const NodeId* nodes, std::int64_t count) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  auto index = hn::Set(di, nodes[0]);
  if (count >= kLanes) {
    index = hn::LoadU(di, nodes);
  } else if constexpr (kMasks) {
    const auto mask = hn::FirstN(di, static_cast<std::size_t>(count));
    index = hn::IfThenElse(mask, hn::MaskedLoad(mask, di, nodes), index);
  } else {
    alignas(64) std::int32_t lanes[kLanes];
    hn::Store(index, di, lanes);
    std::copy_n(nodes, count, lanes);
    index = hn::Load(di, lanes);
  }
  return hn::GatherIndex(d, base, hn::Mul(index, hn::Set(di, static_cast<std::int32_t>(stride))));
}

/// Columns [column, column + width) of a row, at most kMostColumns, and the head of each of them.
struct Panel {
  std::int64_t column = 0;
  std::int64_t width = 0;
  int vectors = 0;
  alignas(64) std::int32_t head_of[kMostColumns];

  Panel(std::int64_t first, std::int64_t columns, std::int64_t heads)
      : column(first),
        width(std::min(kMostColumns, columns - first)),
        vectors(static_cast<int>((width + kLanes - 1) / kLanes)) {
    const std::int64_t head_width = columns / heads;
    for (std::int64_t i = 0; i < kMostColumns; ++i) {
      head_of[i] = static_cast<std::int32_t>(std::min((first + i) / head_width, heads - 1));
    }
  }
};

/// The two sums of a panel's columns.
struct Sums {
  alignas(64) float plain[kMostColumns];
  alignas(64) float steep[kMostColumns];

  void clear(const Panel& panel) {
    std::fill_n(plain, panel.vectors * kLanes, 0.0F);
    std::fill_n(steep, panel.vectors * kLanes, 0.0F);
  }
};

/// Consecutive edges of a row.
struct Run {
  const NodeId* indices;  ///< of the first one
  std::int64_t count;
  std::int64_t known;  ///< how many indices from the first one on exist, for prefetching
};

/// The weights of one edge, spread over the columns of a panel.
template <bool kOneHead>
HWY_INLINE Vector spread(const float* weights, std::int64_t heads, const std::int32_t* head_of) {
  const Tag d;
  if constexpr (kOneHead) return hn::Set(d, *weights);
  if (heads <= kLanes) return hn::TableLookupLanes(hn::LoadU(d, weights), hn::SetTableIndices(d, head_of));
  return hn::GatherIndex(d, weights, hn::Load(hn::RebindToSigned<Tag>(), head_of));
}

/// sums += the panel's columns of the rows of `x` at the other ends of the edges, with the batch's weights.
template <int kVectors, bool kOneHead>
void add_rows(const ConstMatrixView<float>& x, const Run& run, const Batch& batch, std::int64_t heads,
              const Panel& panel, Sums& sums) {
  const Tag d;
  const std::int64_t tail = panel.width - (kVectors - 1) * kLanes;
  const auto ahead = std::clamp<std::int64_t>(16384 / (panel.width * 4), 4, 32);
  Vector plain[kVectors];
  Vector steep[kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) {
    plain[i] = hn::Load(d, sums.plain + i * kLanes);
    steep[i] = hn::Load(d, sums.steep + i * kLanes);
  }
  for (std::int64_t k = 0; k < run.count; ++k) {
    const float* later = x.row(run.indices[std::min(k + ahead, run.known - 1)]) + panel.column;
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) hwy::Prefetch(later + i * kLanes);
    const float* row = x.row(run.indices[k]) + panel.column;
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      Vector value;
      if (i < kVectors - 1 || tail == kLanes) {
        value = hn::LoadU(d, row + i * kLanes);
      } else if constexpr (kMasks) {
        value = hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(tail)), d, row + i * kLanes);
      } else {
        alignas(64) float lanes[kLanes] = {};
        std::copy_n(row + i * kLanes, tail, lanes);
        value = hn::Load(d, lanes);
      }
      const std::int32_t* head_of = panel.head_of + i * kLanes;
      plain[i] = hn::MulAdd(spread<kOneHead>(batch.plain + k * heads, heads, head_of), value, plain[i]);
      steep[i] = hn::MulAdd(spread<kOneHead>(batch.steep + k * heads, heads, head_of), value, steep[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) {
    hn::Store(plain[i], d, sums.plain + i * kLanes);
    hn::Store(steep[i], d, sums.steep + i * kLanes);
  }
}

using AddRows = void (*)(const ConstMatrixView<float>&, const Run&, const Batch&, std::int64_t, const Panel&, Sums&);

template <bool kOneHead, int... I>
AddRows add_rows_kernel(int vectors, std::integer_sequence<int, I...>) {
  static constexpr AddRows kKernels[] = {add_rows<1 + I, kOneHead>...};
  return kKernels[vectors - 1];
}

inline AddRows add_rows_kernel(std::int64_t heads, const Panel& panel) {
  constexpr auto kWidths = std::make_integer_sequence<int, kMostVectors>();
  return heads == 1 ? add_rows_kernel<true>(panel.vectors, kWidths) : add_rows_kernel<false>(panel.vectors, kWidths);
}

}  // namespace attention
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
