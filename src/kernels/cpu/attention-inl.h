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
#include <utility>

#include "base/matrix_view.h"
#include "kernels/attention.h"
#include "kernels/cpu/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace attention {

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

/// One value per head. kHeads: how many, where the compiler knows it, else 0.
template <int kHeads>
struct PerHead {
  float of[kHeads > 0 ? kHeads : kMostAttentionHeads];

  static HWY_INLINE PerHead load(const float* from, std::int64_t heads) {
    PerHead values;
    std::copy_n(from, kHeads > 0 ? kHeads : heads, values.of);
    return values;
  }
  HWY_INLINE void store(float* to, std::int64_t heads) const { std::copy_n(of, kHeads > 0 ? kHeads : heads, to); }
  /// Every value becomes fn(it, others...).
  template <class Fn, class... Others>
  HWY_INLINE void update(std::int64_t heads, const Fn& fn, const Others&... others) {
    for (std::int64_t h = 0; h < (kHeads > 0 ? kHeads : heads); ++h) of[h] = fn(of[h], others.of[h]...);
  }
  HWY_INLINE void fill(float value, std::int64_t heads) {
    update(heads, [value](float) { return value; });
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

/// The natural logarithm; NaN stays NaN.
HWY_INLINE Vector log_of(Vector x) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Log(Tag(), x)); }

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

/// A vector from its halves.
template <class D, class V>
HWY_INLINE hn::Vec<D> join([[maybe_unused]] D d, [[maybe_unused]] V low, V high) {
#if HWY_TARGET == HWY_SCALAR
  return high;  // never called: a vector of one value has no halves
#else
  return hn::Combine(d, high, low);
#endif
}

/// Edges whose values, one per head, fill a vector: lane e * kHeads + h is head h of edge e. 0: such vectors are not used.
template <int kHeads>
constexpr int kEdgesPerVector =
    kHeads == 1 || (kHeads > 0 && kHeads % 4 == 0 && kLanes % kHeads == 0) ? static_cast<int>(kLanes / std::max(kHeads, 1)) : 0;

/// The values of one node, for every edge of a vector.
template <int kHeads>
HWY_INLINE Vector repeat(const float* values) {
  const Tag d;
  static_assert(kEdgesPerVector<kHeads> > 0);
  if constexpr (kHeads == 1) {
    return hn::Set(d, *values);
  } else if constexpr (kHeads == kLanes) {
    return hn::LoadU(d, values);
  } else if constexpr (kHeads == 4) {
    return hn::LoadDup128(d, values);
  } else {
    static_assert(2 * kHeads == kLanes);
    const auto half = hn::LoadU(hn::Half<Tag>(), values);
    return join(d, half, half);
  }
}

/// The values of the nodes at the ends of the edges, base[node * stride + head]; the edges from `count` on repeat the first.
template <int kHeads>
HWY_INLINE Vector load_ends(const float* base, std::int64_t stride, const NodeId* nodes, std::int64_t count) {
  const Tag d;
  constexpr int kEdges = kEdgesPerVector<kHeads>;
  static_assert(kEdges > 0);
  if constexpr (kHeads == 1) {
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
  } else {
    const hn::CappedTag<float, kHeads> dh;
    const auto end = [&](int e) HWY_ATTR { return hn::LoadU(dh, base + nodes[e < count ? e : 0] * stride); };
    if constexpr (kEdges == 1) {
      return end(0);
    } else if constexpr (kEdges == 2) {
      return join(d, end(0), end(1));
    } else {
      static_assert(kEdges == 4);
      const hn::Half<Tag> half;
      return join(d, join(half, end(0), end(1)), join(half, end(2), end(3)));
    }
  }
}

/// fn, which is commutative, over the edges of a vector: every edge has the result for each head.
template <int kHeads, class Fn>
HWY_INLINE Vector fold(Vector values, [[maybe_unused]] const Fn& fn) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kHeads == 1 && kLanes >= 4) {
    values = fn(values, hn::Shuffle2301(values));
    values = fn(values, hn::Shuffle1032(values));
  }
  if constexpr (kHeads <= 4 && kLanes >= 8) values = fn(values, hn::SwapAdjacentBlocks(values));
  if constexpr (kHeads <= 8 && kLanes >= 16) values = fn(values, hn::ConcatLowerUpper(Tag(), values, values));
#endif
  return values;
}

/// The lanes of the edges that there are, of `count`.
template <int kHeads>
HWY_INLINE auto used_lanes(std::int64_t count) {
  return hn::FirstN(Tag(), static_cast<std::size_t>(std::min(kLanes, count * kHeads)));
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

/// Columns of vector i of a panel, to a row whose first column is the panel's.
HWY_INLINE void store_columns(Vector columns, const Panel& panel, int i, float* row) {
  const Tag d;
  const std::int64_t left = panel.width - i * kLanes;
  if (left >= kLanes) {
    hn::StoreU(columns, d, row + i * kLanes);
  } else {
    store_first(columns, row + i * kLanes, left);
  }
}

/// The two sums of a panel's columns.
struct Sums {
  alignas(64) float plain[kMostColumns];
  alignas(64) float steep[kMostColumns];

  HWY_INLINE void clear(const Panel& panel) {
    const Tag d;
    for (int i = 0; i < panel.vectors; ++i) {
      hn::Store(hn::Zero(d), d, plain + i * kLanes);
      hn::Store(hn::Zero(d), d, steep + i * kLanes);
    }
  }
};

/// Consecutive edges of a row.
struct Run {
  const NodeId* indices;  ///< of the first one
  std::int64_t count;
  std::int64_t known;  ///< how many indices from the first one on exist, for prefetching
};

/// Spreads the weights of an edge over the columns of vector i of a panel. kHeads: how many, where the compiler knows it, else 0.
template <int kHeads, int kVectors>
class Spread {
  static constexpr bool kRepeats = kEdgesPerVector<kHeads> > 0;
  using Indices = decltype(hn::SetTableIndices(Tag(), static_cast<const std::int32_t*>(nullptr)));

 public:
  Spread(const Panel& panel, std::int64_t heads) : panel_(panel), in_register_(heads <= kLanes) {
    if constexpr (kRepeats && kHeads > 1) {
#pragma GCC unroll 8
      for (int i = 0; i < kVectors; ++i) indices_[i] = hn::SetTableIndices(Tag(), panel.head_of + i * kLanes);
    }
  }

  HWY_INLINE Vector operator()(const float* weights, int i) const {
    const Tag d;
    if constexpr (kHeads == 1) {
      return hn::Set(d, *weights);
    } else if constexpr (kRepeats) {
      return hn::TableLookupLanes(repeat<kHeads>(weights), indices_[i]);
    } else {
      const std::int32_t* head_of = panel_.head_of + i * kLanes;
      if (in_register_) return hn::TableLookupLanes(hn::LoadU(d, weights), hn::SetTableIndices(d, head_of));
      return hn::GatherIndex(d, weights, hn::Load(hn::RebindToSigned<Tag>(), head_of));
    }
  }

 private:
  const Panel& panel_;
  bool in_register_;
  Indices indices_[kRepeats && kHeads > 1 ? kVectors : 1];
};

/// The same of values that every edge of a vector has.
template <int kHeads>
HWY_INLINE Vector spread_repeated(Vector values, [[maybe_unused]] const Panel& panel, [[maybe_unused]] int i) {
  if constexpr (kHeads == 1) {
    return values;
  } else {
    return hn::TableLookupLanes(values, hn::SetTableIndices(Tag(), panel.head_of + i * kLanes));
  }
}

/// sums += the panel's columns of the rows of `x` at the other ends of the edges, with the batch's weights.
template <int kVectors, int kHeads>
void add_rows(const ConstMatrixView<float>& x, const Run& run, const Batch& batch, std::int64_t heads,
              const Panel& panel, Sums& sums) {
  const Tag d;
  const std::int64_t tail = panel.width - (kVectors - 1) * kLanes;
  const auto ahead = std::clamp<std::int64_t>(16384 / (panel.width * 4), 4, 32);
  const Spread<kHeads, kVectors> spread(panel, heads);
  const std::int64_t values = kHeads > 0 ? kHeads : heads;
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
      } else {
        value = load_first(row + i * kLanes, tail);
      }
      plain[i] = hn::MulAdd(spread(batch.plain + k * values, i), value, plain[i]);
      steep[i] = hn::MulAdd(spread(batch.steep + k * values, i), value, steep[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) {
    hn::Store(plain[i], d, sums.plain + i * kLanes);
    hn::Store(steep[i], d, sums.steep + i * kLanes);
  }
}

using AddRows = void (*)(const ConstMatrixView<float>&, const Run&, const Batch&, std::int64_t, const Panel&, Sums&);

template <int kHeads, int... I>
AddRows add_rows_kernel(int vectors, std::integer_sequence<int, I...>) {
  static constexpr AddRows kKernels[] = {add_rows<1 + I, kHeads>...};
  return kKernels[vectors - 1];
}

template <int kHeads>
AddRows add_rows_kernel(const Panel& panel) {
  return add_rows_kernel<kHeads>(panel.vectors, std::make_integer_sequence<int, kMostVectors>());
}

}  // namespace attention
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif
