// What attention and its backward share: two weighted sums over the edges of a row in one pass, for kernels compiled
// once for each instruction set (hence the toggled guard).
//
// Edges come in batches of at most kBatchEdges: first a weight per edge and head for each of the two sums is made, in a
// small buffer, with vectors over edges x heads; then the rows of the other ends stream by once and both sums are
// accumulated in registers. Where a weight is known from its edge alone (add_weighed, and RowGroups for rows of few
// edges) one function does both; where it takes a look at the row first, or is multiplied by a gate, the caller fills
// the batch (add_rows).
#if defined(GNEISS_KERNELS_CPU_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GNEISS_KERNELS_CPU_ATTENTION_INL_H
#undef GNEISS_KERNELS_CPU_ATTENTION_INL_H
#else
#define GNEISS_KERNELS_CPU_ATTENTION_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "base/matrix_view.h"
#include "kernels/attention.h"
#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/fetch_ahead.h"

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

/// Edges whose values, one per head, fill a vector: lane e * kHeads + h is head h of edge e. 0: such vectors are not
/// used.
template <int kHeads>
constexpr int kEdgesPerVector = kHeads == 1 || (kHeads > 0 && kHeads % 4 == 0 && kLanes % kHeads == 0)
                                    ? static_cast<int>(kLanes / std::max(kHeads, 1))
                                    : 0;

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

/// The values of the nodes at the ends of the edges, base[node * stride + head]; the edges from `count` on repeat the
/// first.
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
  FetchAhead ahead;
  int vectors = 0;
  alignas(64) std::int32_t head_of[kMostColumns];

  Panel(std::int64_t first, std::int64_t columns, std::int64_t heads)
      : column(first),
        width(std::min(kMostColumns, columns - first)),
        ahead(FetchAhead::from_memory(width * static_cast<std::int64_t>(sizeof(float)))),
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

/// The same backwards.
HWY_INLINE Vector load_columns(const Panel& panel, int i, const float* row) {
  const std::int64_t left = panel.width - i * kLanes;
  return left >= kLanes ? hn::LoadU(Tag(), row + i * kLanes) : load_first(row + i * kLanes, left);
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

/// Calls fn with the number of heads, as a constant where rows are faster for that, else 0.
template <class Fn>
void with_heads(std::int64_t heads, const Fn& fn) {
  switch (heads) {
    case 1:
      return fn(std::integral_constant<int, 1>());
    case 4:
      return fn(std::integral_constant<int, 4>());
    case 8:
      return fn(std::integral_constant<int, 8>());
    default:
      return fn(std::integral_constant<int, 0>());
  }
}

/// Consecutive edges of a row.
struct Run {
  const NodeId* indices;  ///< of the first one
  std::int64_t count;
  std::int64_t known;  ///< how many indices from the first one on exist, for prefetching
};

/// Entries of one tile of a pattern cut by sources, as numbers of nodes: those of a run, and those behind it for
/// prefetching. Most runs follow one another: many are read at once.
class TileIds {
 public:
  TileIds(const TiledPattern& tiles, std::int64_t tile)
      : ids_(tiles.ids), base_(static_cast<std::int32_t>(tile * tiles.tile_cols)) {}

  static constexpr std::int64_t kMost = 512;  ///< entries of a run

  HWY_INLINE Run run(std::int64_t id, std::int64_t count) {
    if (id < begin_ || (id + count + FetchAhead::kMostFar > end_ && end_ < static_cast<std::int64_t>(ids_.size())))
      read(id);
    return {nodes_ + (id - begin_), count, end_ - id};
  }

 private:
  static constexpr std::int64_t kRoom = 2 * kMost + FetchAhead::kMostFar;

  /// Fills nodes_ from entry `id` on.
  HWY_NOINLINE void read(std::int64_t id) {
    const hn::RebindToSigned<Tag> d;
    const hn::Rebind<std::uint16_t, decltype(d)> d16;
    const std::int64_t count = std::min(kRoom, static_cast<std::int64_t>(ids_.size()) - id);
    const std::uint16_t* ids = ids_.data() + id;
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      hn::Store(hn::Add(hn::PromoteTo(d, hn::LoadU(d16, ids + i)), hn::Set(d, base_)), d, nodes_ + i);
    }
    for (; i < count; ++i) nodes_[i] = ids[i] + base_;
    begin_ = id;
    end_ = id + count;
  }

  std::span<const std::uint16_t> ids_;
  std::int32_t base_;
  std::int64_t begin_ = 0;  ///< entries that nodes_ has: from here
  std::int64_t end_ = 0;    ///< to here
  alignas(64) NodeId nodes_[kRoom];
};

/// Calls body(segment, id of its first entry) for the segments of a chunk.
template <class Body>
void for_each_segment(const TiledPattern& tiles, std::int64_t chunk, const Body& body) {
  const auto at = static_cast<std::size_t>(chunk);
  std::int64_t id = tiles.chunks[at].id;
  for (std::int64_t s = tiles.chunks[at].segment; s < tiles.chunks[at + 1].segment; ++s) {
    const RowSegment& segment = tiles.segments[static_cast<std::size_t>(s)];
    body(segment, id);
    id += segment.length;
  }
}

/// Spreads the weights of an edge over the columns of vector i of a panel. kHeads: how many, where the compiler knows
/// it, else 0.
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
    const float* far = x.row(run.indices[std::min(k + panel.ahead.far, run.known - 1)]) + panel.column;
    const float* near = x.row(run.indices[std::min(k + panel.ahead.near, run.known - 1)]) + panel.column;
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      prefetch_far(far + i * kLanes);
      prefetch(near + i * kLanes);
    }
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

/// What the weights of a row's edges are made of, and what they come to besides the sums of a panel. A weight is
/// exp(score - bound).
struct WeighedRow {
  const float*
      ends;  ///< of a node at the other end: kHeads scores, and for the backward as many bounds and common values
  std::int64_t stride;  ///< values of a node
  Vector own;           ///< scores of the row, for every edge of a vector
  Vector bound;         ///< the same of the bound, but for the backward
  Vector slope;
  Vector total;  ///< sum of weights; each edge of a vector has its share
  Vector steep;  ///< sum of weights x derivatives of the leaky ReLU, and x common values in the backward
};

/// Weights of the edges to `nodes`, and those times the derivatives of the leaky ReLU, to arrays of whole vectors of
/// edges x heads; what is behind the last edge is zero.
template <int kHeads, bool kBackward>
HWY_INLINE void weigh_edges(WeighedRow& at, const NodeId* nodes, std::int64_t count, float* weights, float* steeps) {
  constexpr int kEdges = kEdgesPerVector<kHeads>;
  const Tag d;
  // Edges from i on that fill a vector, or the last ones.
  const auto weigh = [&](std::int64_t i, auto edges) HWY_ATTR {
    const auto of_ends = [&](int what) HWY_ATTR {
      return load_ends<kHeads>(at.ends + what * kHeads, at.stride, nodes + i, edges);
    };
    const auto raw = hn::Add(at.own, of_ends(0));
    const auto rises = hn::Gt(raw, hn::Zero(d));
    const auto score = hn::IfThenElse(rises, raw, hn::Mul(raw, at.slope));
    auto bound = at.bound;
    if constexpr (kBackward) bound = of_ends(1);
    auto weight = exp_of_score(hn::Sub(score, bound));
    if constexpr (std::is_same_v<decltype(edges), std::int64_t>)
      weight = hn::IfThenElseZero(used_lanes<kHeads>(edges), weight);
    const auto bent = hn::IfThenElse(rises, weight, hn::Mul(weight, at.slope));
    if constexpr (kBackward) {
      at.steep = hn::MulAdd(bent, of_ends(2), at.steep);
    } else {
      at.total = hn::Add(at.total, weight);
      at.steep = hn::Add(at.steep, bent);
    }
    hn::Store(weight, d, weights + i * kHeads);
    hn::Store(bent, d, steeps + i * kHeads);
  };
  std::int64_t i = 0;
  for (; i + kEdges <= count; i += kEdges) weigh(i, std::integral_constant<int, kEdges>());
  if (i < count) weigh(i, count - i);
}

/// Adds rows at the other ends of edges, with weights that are known, to two sums of a panel's columns in registers.
template <int kVectors, int kHeads, bool kBackward>
class WeighedSums {
 public:
  WeighedSums(const ConstMatrixView<float>& x, const Panel& panel, const float* ends, std::int64_t stride)
      : columns_(x.data + panel.column),
        row_stride_(x.stride),
        ends_(ends),
        stride_(stride),
        tail_(panel.width - (kVectors - 1) * kLanes),
        spread_(panel, kHeads) {}

  HWY_INLINE void load(const Sums& sums) {
    const Tag d;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      plain[v] = hn::Load(d, sums.plain + v * kLanes);
      steep[v] = hn::Load(d, sums.steep + v * kLanes);
    }
  }

  HWY_INLINE void clear() {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) plain[v] = steep[v] = hn::Zero(Tag());
  }

  HWY_INLINE void store(Sums& sums) const {
    const Tag d;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(plain[v], d, sums.plain + v * kLanes);
      hn::Store(steep[v], d, sums.steep + v * kLanes);
    }
  }

  /// Adds `count` rows. The rows and values of as many nodes from `far` on are fetched into the second-level cache, the
  /// rows of those from `near` on into the first.
  HWY_INLINE void add(const NodeId* nodes, std::int64_t count, const float* weights, const float* steeps,
                      const NodeId* near, const NodeId* far) {
    constexpr int kEndValues = kHeads * (kBackward ? 3 : 1);
    constexpr int kLineValues = 16;
    const Tag d;
    for (std::int64_t e = 0; e < count; ++e) {
      const float* far_end = ends_ + far[e] * stride_;
#pragma GCC unroll 8
      for (int value = 0; value < kEndValues; value += kLineValues) prefetch_far(far_end + value);
      const float* far_row = columns_ + far[e] * row_stride_;
      const float* near_row = columns_ + near[e] * row_stride_;
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        prefetch_far(far_row + v * kLanes);
        prefetch(near_row + v * kLanes);
      }
      const float* values = columns_ + nodes[e] * row_stride_;
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const auto value = v < kVectors - 1 || tail_ == kLanes ? hn::LoadU(d, values + v * kLanes)
                                                               : load_first(values + v * kLanes, tail_);
        plain[v] = hn::MulAdd(spread_(weights + e * kHeads, v), value, plain[v]);
        steep[v] = hn::MulAdd(spread_(steeps + e * kHeads, v), value, steep[v]);
      }
    }
  }

  Vector plain[kVectors];
  Vector steep[kVectors];

 private:
  const float* columns_;
  std::int64_t row_stride_;
  const float* ends_;
  std::int64_t stride_;
  std::int64_t tail_;
  Spread<kHeads, kVectors> spread_;
};

/// Vectors of weights at most of a batch of add_weighed.
constexpr std::int64_t kWeighedVectors = 16;

/// Adds the edges of a run: sums += the panel's columns of the rows of `x` at the other ends, with the edges' weights
/// and those times the derivatives. The weights of a batch are made before its rows are added: the chain of operations
/// from an end to a weight is so long that a processor, which looks ahead some hundreds of instructions, would stand
/// still at each vector of edges, did not the next ones follow it.
template <int kVectors, int kHeads, bool kBackward>
void add_weighed(const ConstMatrixView<float>& x, const Run& run, const Panel& panel, WeighedRow& at, Sums& sums) {
  constexpr std::int64_t kBatch = std::min<std::int64_t>(kWeighedVectors * kEdgesPerVector<kHeads>, kBatchEdges);
  alignas(64) float weights[kWeighedVectors * kLanes + 64];
  alignas(64) float steeps[kWeighedVectors * kLanes + 64];
  WeighedRow row = at;
  WeighedSums<kVectors, kHeads, kBackward> of_panel(x, panel, row.ends, row.stride);
  of_panel.load(sums);
  for (std::int64_t k = 0; k < run.count; k += kBatch) {
    const std::int64_t count = std::min(kBatch, run.count - k);
    const NodeId* nodes = run.indices + k;
    weigh_edges<kHeads, kBackward>(row, nodes, count, weights, steeps);
    const auto behind = [&](std::int64_t by) { return k + by + count <= run.known ? nodes + by : nodes; };
    of_panel.add(nodes, count, weights, steeps, behind(panel.ahead.near), behind(panel.ahead.far));
  }
  of_panel.store(sums);
  at.total = row.total;
  at.steep = row.steep;
}

/// Values per head of a vector in which each edge has its share, summed over the edges.
template <int kHeads>
HWY_INLINE Vector sum_of_edges(Vector values) {
  return fold<kHeads>(values, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}

using AddWeighed = void (*)(const ConstMatrixView<float>&, const Run&, const Panel&, WeighedRow&, Sums&);

template <int kHeads, bool kBackward, int... I>
AddWeighed add_weighed_kernel(int vectors, std::integer_sequence<int, I...>) {
  static constexpr AddWeighed kKernels[] = {add_weighed<1 + I, kHeads, kBackward>...};
  return kKernels[vectors - 1];
}

template <int kHeads, bool kBackward>
AddWeighed add_weighed_kernel(const Panel& panel) {
  return add_weighed_kernel<kHeads, kBackward>(panel.vectors, std::make_integer_sequence<int, kMostVectors>());
}

/// Rows of few edges, which an add_weighed each would leave waiting: for the first weights, and for the lines of
/// results, since rows are stored one after the other. While the rows of a group are added, the weights of the next
/// group are made in between, and results are fetched before they are written; no hardware prefetcher sees their lines
/// among those that are gathered. Each row has the bits of add_weighed.
template <int kVectors, int kHeads, bool kBackward>
class RowGroups {
  static constexpr std::int64_t kEdges = kEdgesPerVector<kHeads>;
  static constexpr std::int64_t kMostWeights = 16;  ///< vectors of weights of a group

 public:
  static constexpr std::int64_t kMostRows = 4;
  /// Rows behind the one that is stored whose results are to be fetched.
  static constexpr std::int64_t kRowsAhead = 4;

  /// Values per head of the rows of a group, with room for a whole vector behind them; whole cache lines.
  static constexpr std::int64_t kValues = (kMostRows * kHeads + kLanes + 15) / 16 * 16;

  /// Consecutive rows.
  struct Group {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    alignas(64) float weights[kMostWeights * kLanes];
    alignas(64) float steeps[kMostWeights * kLanes];
    alignas(64) float values[3][kValues];  ///< the caller's, of each row and head

    std::int64_t rows() const { return end - begin; }
  };

  /// `ends`, `stride`: those of WeighedRow.
  RowGroups(const SparsePattern& pattern, const ConstMatrixView<float>& x, const Panel& panel, const float* ends,
            std::int64_t stride)
      : pattern_(pattern), panel_(panel), sums_(x, panel, ends, stride) {}

  /// Rows [begin, end). Of those in a group: row_of(v) is what their weights are made of; when they are made, it comes
  /// back to weighed(group, i, row, edges), where i is the position of row v, and when those of all rows are,
  /// closed(group) follows; summed(group, i, v, plain, steep) has the sums of the panel's columns as vectors. Of each
  /// other row: one(v).
  template <class RowOf, class Weighed, class Closed, class Summed, class One>
  HWY_INLINE void run(std::int64_t begin, std::int64_t end, const RowOf& row_of, const Weighed& weighed,
                      const Closed& closed, const Summed& summed, const One& one) {
    const EdgeId* offsets = pattern_.offsets.data();
    const NodeId* indices = pattern_.indices.data();
    auto sums = sums_;  // a copy that is known to be no one else's
    Group* now = &groups_[0];
    Group* next = &groups_[1];
    now->begin = now->end = begin;
    while (now->begin < end) {
      open(*next, now->end, end);
      const std::int64_t left = pattern_.nonzeros() - offsets[now->end];
      const std::int64_t near = panel_.ahead.near <= left ? panel_.ahead.near : 0;
      const std::int64_t far = panel_.ahead.far <= left ? panel_.ahead.far : 0;
      const std::int64_t first_made = next->begin;
      const std::int64_t first_added = now->begin;
      const std::int64_t to_make = next->rows();
      const std::int64_t to_add = now->rows();
      std::int64_t made = 0;
      std::int64_t added = 0;
      for (std::int64_t i = 0; i < std::max(to_make, to_add); ++i) {
        if (i < to_make) {
          const std::int64_t v = first_made + i;
          const std::int64_t count = offsets[v + 1] - offsets[v];
          WeighedRow row = row_of(v);
          weigh_edges<kHeads, kBackward>(row, indices + offsets[v], count, next->weights + made, next->steeps + made);
          weighed(*next, i, row, count);
          made += vectors_of(count) * kLanes;
        }
        if (i < to_add) {
          const std::int64_t v = first_added + i;
          const std::int64_t count = offsets[v + 1] - offsets[v];
          const NodeId* nodes = indices + offsets[v];
          sums.clear();
          sums.add(nodes, count, now->weights + added, now->steeps + added, nodes + near, nodes + far);
          added += vectors_of(count) * kLanes;
          summed(*now, i, v, sums.plain, sums.steep);
        }
      }
      if (next->rows() > 0) {
        closed(*next);
      } else if (next->end < end) {
        one(next->end++);
        next->begin = next->end;
      }
      std::swap(now, next);
    }
  }

 private:
  static constexpr std::int64_t vectors_of(std::int64_t edges) { return (edges + kEdges - 1) / kEdges; }

  /// The group of rows from `begin` on, and up to `end`; without rows where the first one has too many edges.
  void open(Group& group, std::int64_t begin, std::int64_t end) const {
    group.begin = group.end = begin;
    const EdgeId* offsets = pattern_.offsets.data();
    std::int64_t vectors = 0;
    for (; group.end < std::min(end, begin + kMostRows); ++group.end) {
      vectors += vectors_of(offsets[group.end + 1] - offsets[group.end]);
      if (vectors > kMostWeights) return;
    }
  }

  const SparsePattern& pattern_;
  const Panel& panel_;
  WeighedSums<kVectors, kHeads, kBackward> sums_;
  Group groups_[2];
};

/// Has the lines of the panel's columns of a row fetched.
template <int kVectors>
HWY_INLINE void prefetch_columns(const Panel& panel, const float* row) {
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) prefetch(row + panel.column + i * kLanes);
}

/// Calls fn with the number of vectors of a panel as a constant.
template <class Fn, int... I>
void with_vectors(int vectors, const Fn& fn, std::integer_sequence<int, I...>) {
  ((vectors == 1 + I ? fn(std::integral_constant<int, 1 + I>()) : void()), ...);
}
template <class Fn>
void with_vectors(const Panel& panel, const Fn& fn) {
  with_vectors(panel.vectors, fn, std::make_integer_sequence<int, kMostVectors>());
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
