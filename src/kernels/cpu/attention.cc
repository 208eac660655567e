// Attention on the CPU: softmax weights relative to a bound of the row's scores, or to a running maximum.
//
// No score of a row exceeds that of its destination with the highest s_src of the head. Where the s_src of a head lie
// near enough to each other, as nearly always, weights relative to that bound cannot all vanish: one pass over the
// edges does it (attention-inl.h), over those of some rows together where rows have few. Of several ranks each has
// scores of its own sources alone: the range of all of them is given, so that all take the bound that one rank would.
// Elsewhere, and where weights are gated, a row's edges come in batches: a batch's scores, leaky ReLUs and exponentials
// are vectors over edges x heads in a buffer that stays in L1; its neighbours' rows are then read once and added, with
// their weights, to the two sums in registers. Where a later batch has a higher score, what was summed before is scaled
// down. Rows of up to 32 edges have one batch, so their sums are those of the plain softmax. Each row is one thread's,
// in the order of its edges.
//
// Tile by tile of sources (attention_tiled), a row's segments continue each other: between two of them its sums lie
// in y and tangent and its softmax in the workspace, and a last sweep over the rows makes the results of them.
#include "kernels/attention.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/band_views.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Scores of a head that differ by more are weighed relative to the highest of each row: e^-32 times a small feature is
/// still far from zero.
constexpr float kMostRange = 32;

/// The scratch of attention: the range of the scores of the sources, and what rows come to between segments.
class Scratch {
 public:
  Scratch(const AttentionArgs<float>& args, std::byte* memory)
      : values_(reinterpret_cast<float*>(memory)), heads_(args.heads) {}

  /// Is there a bound for each row that its scores are near enough to?
  bool bounded() const { return values_[0] != 0; }
  /// s_src, of each head.
  const float* highest() const { return values_ + 1; }
  /// kAttentionStates values of each destination and head.
  float* states() const { return values_ + score_range_values(heads_); }

  /// Finds whether rows are bounded, from the ranges of parts of the sources side by side.
  void measure(int threads, const AttentionArgs<float>& args) {
    values_[0] = 0;
    bool in_vectors = false;
    attention::with_heads(heads_, [&](auto heads) { in_vectors = attention::kEdgesPerVector<heads> > 0; });
    if (!in_vectors || args.gate.rows != 0 || !args.s_src.contiguous() || args.s_src.rows == 0 || args.slope < 0 ||
        args.slope > 1)
      return;
    if (args.range.rows != 0) return take_range(args.range.row(0), args.range.row(1));
    const std::int64_t grain = num_chunks(args.s_src.rows, kScoreRangeParts);
    float* ranges = values_ + 1 + heads_;
    parallel_chunks(threads, args.s_src.rows, grain, [&](std::int64_t begin, std::int64_t end) {
      float* most = ranges + begin / grain * 2 * heads_;
      find_range(args.s_src.row(begin), (end - begin) * heads_, most, most + heads_);
    });
    for (std::int64_t p = 1; p < num_chunks(args.s_src.rows, grain); ++p) {
      const float* part = ranges + 2 * p * heads_;
      for (std::int64_t h = 0; h < heads_; ++h) {
        ranges[h] = std::max(ranges[h], part[h]);
        ranges[heads_ + h] = std::min(ranges[heads_ + h], part[heads_ + h]);
      }
    }
    take_range(ranges, ranges + heads_);
  }

 private:
  /// The highest and lowest score of each head. Differences that are no number are not near.
  void take_range(const float* most, const float* least) {
    bool near = true;
    for (std::int64_t h = 0; h < heads_; ++h) {
      values_[1 + h] = most[h];
      near = near && most[h] - least[h] <= kMostRange;
    }
    values_[0] = near ? 1 : 0;
  }

  /// The highest and lowest of each head among `count` scores, row by row of all heads. Of a NaN and a number, the
  /// number.
  void find_range(const float* scores, std::int64_t count, float* most, float* least) const {
    const Tag d;
    alignas(64) float lanes[2][kLanes];
    auto high = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto low = hn::Set(d, std::numeric_limits<float>::infinity());
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const auto score = hn::LoadU(d, scores + i);
      high = hn::IfThenElse(hn::Gt(score, high), score, high);
      low = hn::IfThenElse(hn::Lt(score, low), score, low);
    }
    hn::Store(high, d, lanes[0]);
    hn::Store(low, d, lanes[1]);
    std::copy_n(lanes[0], heads_, most);  // a vector has whole rows: kLanes is a multiple of heads
    std::copy_n(lanes[1], heads_, least);
    for (std::int64_t l = heads_; l < kLanes; ++l) {
      most[l % heads_] = std::max(most[l % heads_], lanes[0][l]);
      least[l % heads_] = std::min(least[l % heads_], lanes[1][l]);
    }
    for (; i < count; ++i) {
      most[i % heads_] = std::max(most[i % heads_], scores[i]);
      least[i % heads_] = std::min(least[i % heads_], scores[i]);
    }
  }

  float* values_;
  std::int64_t heads_;
};

/// A row of a panel. kHeads: the number of heads where it is known to the compiler, else 0. kBounded: weights are
/// relative to a bound.
template <int kHeads, bool kBounded>
class RowAttention {
  using Values = attention::PerHead<kHeads>;
  /// Are weights made in vectors of edges x heads? What a head has is then repeated for every edge of a vector.
  static constexpr bool kInVectors = attention::kEdgesPerVector<kHeads> > 0;
  using State = std::conditional_t<kInVectors, Vector, Values>;
  /// Values per head in memory, with room for whole vectors behind them.
  static constexpr std::int64_t kRoom = (kHeads > 0 ? kHeads : kMostAttentionHeads) + kLanes;

 public:
  RowAttention(const AttentionArgs<float>& args, const attention::Panel& panel, const Scratch& scratch)
      : args_(args), panel_(panel), scratch_(scratch), heads_(kHeads > 0 ? kHeads : args.heads) {
    if constexpr (kBounded) {
      add_ = attention::add_weighed_kernel<kHeads, false>(panel);
    } else {
      add_ = attention::add_rows_kernel<kHeads>(panel);
    }
  }

  /// Rows [begin, end).
  void run(std::int64_t begin, std::int64_t end) {
    if constexpr (kBounded) {
      attention::with_vectors(panel_, [&](auto vectors) HWY_ATTR { run_groups<vectors>(begin, end); });
    } else {
      for (std::int64_t v = begin; v < end; ++v) run(v);
    }
  }

  void run(std::int64_t v) {
    const EdgeId begin = args_.pattern.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = args_.pattern.offsets[static_cast<std::size_t>(v) + 1];
    const std::int64_t step = kBounded ? std::max<EdgeId>(1, end - begin) : attention::batch_edges(heads());
    sums_.clear(panel_);
    open(v);
    if constexpr (kBounded) begin_row();
    for (EdgeId k = begin; k < end; k += step) {
      const std::int64_t count = std::min(step, end - k);
      add(v, k, {args_.pattern.indices.data() + k, count, args_.pattern.nonzeros() - k}, k == begin);
    }
    if (begin == end) begin_row(0, 1);
    finish(v);
  }

  /// A segment of a row whose entries start at `id`; `first`: the row's first one.
  void run(const RowSegment& segment, std::int64_t id, attention::TileIds& ids, bool first) {
    const std::int64_t step = kBounded ? attention::TileIds::kMost : attention::batch_edges(heads());
    open(segment.row);
    if (!first) {
      resume(segment.row);
    } else {
      sums_.clear(panel_);
      if constexpr (kBounded) {
        begin_row();
      } else {
        begin_row(-std::numeric_limits<float>::infinity(), 0);
      }
    }
    for (std::int64_t i = 0; i < segment.length; i += step) {
      add(segment.row, segment.first + i, ids.run(id + i, std::min(step, segment.length - i)), first && i == 0);
    }
    suspend(segment.row);
  }

  /// After all segments of a row.
  void end(std::int64_t v) {
    const EdgeId* offsets = args_.pattern.offsets.data() + v;
    resume(v);
    if (offsets[0] == offsets[1]) begin_row(0, 1);
    finish(v);
  }

 private:
  std::int64_t heads() const { return kHeads > 0 ? kHeads : heads_; }

  /// Rows [begin, end), those of few edges in groups.
  template <int kVectors>
  void run_groups(std::int64_t begin, std::int64_t end) {
    using Groups = attention::RowGroups<kVectors, kHeads, false>;
    using Group = typename Groups::Group;
    enum { kHighest, kScale, kSteepness };
    const Tag d;
    const bool lse = args_.lse.rows != 0 && panel_.column == 0;
    Groups groups(args_.pattern, args_.z, panel_, args_.s_src.data, args_.s_src.stride);
    // Copies, because what args_ refers to could change with every store for all that a compiler knows.
    const auto slope = hn::Set(d, static_cast<float>(args_.slope));
    const auto most = attention::repeat<kHeads>(scratch_.highest());
    const auto s_src = args_.s_src;
    const auto s_dst = args_.s_dst;
    const auto y = args_.y;
    const auto tangent = args_.tangent;
    const auto row_of = [&](std::int64_t v) HWY_ATTR { return open_row(s_src, slope, most, s_dst.row(v)); };
    const auto weighed = [&](Group& group, std::int64_t i, const attention::WeighedRow& row,
                             std::int64_t edges) HWY_ATTR {
      // What these write too much, the next row overwrites.
      hn::StoreU(edges == 0 ? hn::Zero(d) : row.bound, d, group.values[kHighest] + i * kHeads);
      hn::StoreU(edges == 0 ? hn::Set(d, 1.0F) : attention::sum_of_edges<kHeads>(row.total), d,
                 group.values[kScale] + i * kHeads);
      hn::StoreU(attention::sum_of_edges<kHeads>(row.steep), d, group.values[kSteepness] + i * kHeads);
    };
    const auto closed = [&](Group& group) HWY_ATTR {
      for (std::int64_t i = 0; i < group.rows() * kHeads; i += kLanes) {
        float* scale = group.values[kScale] + i;
        float* steepness = group.values[kSteepness] + i;
        float* highest = group.values[kHighest] + i;
        const auto total = hn::Load(d, scale);
        const auto reciprocal = hn::Div(hn::Set(d, 1.0F), total);
        hn::Store(reciprocal, d, scale);
        hn::Store(hn::Mul(hn::Load(d, steepness), reciprocal), d, steepness);
        if (lse) hn::Store(hn::Add(hn::Load(d, highest), attention::log_of(total)), d, highest);
      }
      if (!lse) return;
      for (std::int64_t v = group.begin; v < group.end; ++v) {
        std::copy_n(group.values[kHighest] + (v - group.begin) * kHeads, kHeads, args_.lse.row(v));
      }
    };
    const auto summed = [&](const Group& group, std::int64_t at, std::int64_t v, const Vector* plain,
                            const Vector* steep) HWY_ATTR {
      attention::prefetch_columns<kVectors>(panel_, y.row(v + Groups::kRowsAhead));
      if (tangent.rows != 0) attention::prefetch_columns<kVectors>(panel_, tangent.row(v + Groups::kRowsAhead));
      const auto scale = attention::repeat<kHeads>(group.values[kScale] + at * kHeads);
      const auto steepness = attention::repeat<kHeads>(group.values[kSteepness] + at * kHeads);
#pragma GCC unroll 8
      for (int i = 0; i < kVectors; ++i) {
        finish_columns(y.row(v), tangent.rows != 0 ? tangent.row(v) : nullptr, panel_, i,
                       attention::spread_repeated<kHeads>(scale, panel_, i),
                       attention::spread_repeated<kHeads>(steepness, panel_, i), plain[i], steep[i]);
      }
    };
    groups.run(begin, end, row_of, weighed, closed, summed, [&](std::int64_t v) HWY_ATTR { run(v); });
  }

  /// A row before its edges, from its scores and the highest ones of the sources.
  static HWY_INLINE attention::WeighedRow open_row(const ConstMatrixView<float>& s_src, Vector slope, Vector highest,
                                                   const float* scores) {
    const Tag d;
    const auto own = attention::repeat<kHeads>(scores);
    const auto raw = hn::Add(own, highest);
    return {s_src.data, s_src.stride, own, hn::Max(raw, hn::Mul(slope, raw)), slope, hn::Zero(d), hn::Zero(d)};
  }

  /// Before the edges of row v.
  void open([[maybe_unused]] std::int64_t v) {
    if constexpr (kBounded) {
      const auto slope = hn::Set(Tag(), static_cast<float>(args_.slope));
      row_ = open_row(args_.s_src, slope, attention::repeat<kHeads>(scratch_.highest()), args_.s_dst.row(v));
    }
  }

  /// The sums of a row without edges so far, where no score exceeds a bound that is known.
  void begin_row() {
    begin_row(0, 0);
    if constexpr (kBounded) highest_ = row_.bound;
  }

  void begin_row(float highest, float total) {
    if constexpr (kInVectors) {
      const Tag d;
      highest_ = hn::Set(d, highest);
      total_ = hn::Set(d, total);
      steep_ = hn::Zero(d);
    } else {
      highest_.fill(highest, heads());
      total_.fill(total, heads());
      steep_.fill(0, heads());
    }
  }

  /// What a row has come to, between its segments.
  void suspend(std::int64_t v) {
    const Tag d;
    float* y = args_.y.row(v) + panel_.column;
    float* tangent = args_.tangent.rows == 0 ? nullptr : args_.tangent.row(v) + panel_.column;
    for (int i = 0; i < panel_.vectors; ++i) {
      attention::store_columns(hn::Load(d, sums_.plain + i * kLanes), panel_, i, y);
      if (tangent != nullptr) attention::store_columns(hn::Load(d, sums_.steep + i * kLanes), panel_, i, tangent);
    }
    float* kept = softmax_of(v);
    for (const State& of_heads : {highest_, total_, steep_}) {
      store_heads(of_heads, kept);
      kept += heads();
    }
  }

  void resume(std::int64_t v) {
    const Tag d;
    const float* y = args_.y.row(v) + panel_.column;
    const float* tangent = args_.tangent.rows == 0 ? nullptr : args_.tangent.row(v) + panel_.column;
    for (int i = 0; i < panel_.vectors; ++i) {
      hn::Store(attention::load_columns(panel_, i, y), d, sums_.plain + i * kLanes);
      hn::Store(tangent == nullptr ? hn::Zero(d) : attention::load_columns(panel_, i, tangent), d,
                sums_.steep + i * kLanes);
    }
    const float* kept = softmax_of(v);
    for (State* of_heads : {&highest_, &total_, &steep_}) {
      *of_heads = load_heads(kept);
      kept += heads();
    }
  }

  float* softmax_of(std::int64_t v) const { return scratch_.states() + v * kAttentionStates * heads(); }

  void store_heads(const State& state, float* to) const {
    if constexpr (kInVectors) {
      alignas(64) float lanes[kLanes];
      hn::Store(state, Tag(), lanes);
      std::copy_n(lanes, kHeads, to);
    } else {
      state.store(to, heads());
    }
  }

  State load_heads(const float* from) const {
    if constexpr (kInVectors) {
      return attention::repeat<kHeads>(from);
    } else {
      return State::load(from, heads());
    }
  }

  /// A batch of the edges of row v, from entry k of the pattern on.
  void add(std::int64_t v, EdgeId k, const attention::Run& run, bool first) {
    if constexpr (kBounded) {
      attention::WeighedRow row = row_;
      add_(args_.z, run, panel_, row, sums_);
      total_ = hn::Add(total_, attention::sum_of_edges<kHeads>(row.total));
      steep_ = hn::Add(steep_, attention::sum_of_edges<kHeads>(row.steep));
    } else {
      if constexpr (kInVectors) {
        weigh_in_vectors(v, run, first);
      } else {
        weigh(v, run, first);
      }
      apply_gate(k, run.count);
      add_(args_.z, run, batch_, heads(), panel_, sums_);
    }
  }

  /// Fills the batch with the weights of a run of edges, relative to the row's highest score so far.
  void weigh(std::int64_t v, const attention::Run& run, bool first) {
    const NodeId* indices = run.indices;
    const std::int64_t count = run.count;
    const std::int64_t known = run.known;
    const auto slope = static_cast<float>(args_.slope);
    const float* own = args_.s_dst.row(v);
    Values highest;
    for (std::int64_t i = 0; i < count; ++i) {
      prefetch(args_.s_src.row(indices[std::min(i + attention::kBatchEdges, known - 1)]));
      const float* other = args_.s_src.row(indices[i]);
      float* plain = batch_.plain + i * heads();
      float* steep = batch_.steep + i * heads();
      for (std::int64_t h = 0; h < heads(); ++h) {
        const float raw = other[h] + own[h];
        steep[h] = raw > 0 ? 1.0F : slope;
        plain[h] = raw * steep[h];
        if (i == 0 || plain[h] > highest.of[h]) highest.of[h] = plain[h];
      }
    }
    raise(highest, first);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t h = 0; h < heads(); ++h) batch_.plain[i * heads() + h] -= highest_.of[h];
    }
    attention::exponentiate(batch_, count * heads());
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t h = 0; h < heads(); ++h) {
        total_.of[h] += batch_.plain[i * heads() + h];
        steep_.of[h] += batch_.steep[i * heads() + h];
      }
    }
  }

  /// The same, a vector of edges x heads at a time.
  void weigh_in_vectors(std::int64_t v, const attention::Run& run, bool first) {
    constexpr int kEdges = attention::kEdgesPerVector<kHeads>;
    const Tag d;
    const NodeId* indices = run.indices;
    const std::int64_t count = run.count;
    const std::int64_t known = run.known;
    const auto own = attention::repeat<kHeads>(args_.s_dst.row(v));
    const auto slope = hn::Set(d, static_cast<float>(args_.slope));
    auto most = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (std::int64_t i = 0; i < count; i += kEdges) {
      for (std::int64_t e = i; e < i + kEdges; ++e) {
        prefetch(args_.s_src.row(indices[std::min(e + attention::kBatchEdges, known - 1)]));
      }
      const auto raw =
          hn::Add(attention::load_ends<kHeads>(args_.s_src.data, args_.s_src.stride, indices + i, count - i), own);
      const auto bent = hn::IfThenElse(hn::Gt(raw, hn::Zero(d)), hn::Set(d, 1.0F), slope);
      const auto score = hn::Mul(raw, bent);
      most = hn::Max(most, score);
      hn::Store(score, d, batch_.plain + i * kHeads);
      hn::Store(bent, d, batch_.steep + i * kHeads);
    }
    raise_vectors(attention::fold<kHeads>(most, [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); }), first);
    const ExpOf exp;
    auto total = hn::Zero(d);
    auto steep = hn::Zero(d);
    for (std::int64_t i = 0; i < count; i += kEdges) {
      const auto all = exp(hn::Sub(hn::Load(d, batch_.plain + i * kHeads), highest_));
      const auto weight = hn::IfThenElseZero(attention::used_lanes<kHeads>(count - i), all);
      const auto bent = hn::Mul(weight, hn::Load(d, batch_.steep + i * kHeads));
      total = hn::Add(total, weight);
      steep = hn::Add(steep, bent);
      hn::Store(weight, d, batch_.plain + i * kHeads);
      hn::Store(bent, d, batch_.steep + i * kHeads);
    }
    total_ = hn::Add(total_, attention::sum_of_edges<kHeads>(total));
    steep_ = hn::Add(steep_, attention::sum_of_edges<kHeads>(steep));
  }

  void apply_gate(EdgeId k, std::int64_t count) {
    if (args_.gate.rows == 0) return;
    for (std::int64_t i = 0; i < count; ++i) {
      attention::scale_edge<kHeads>(batch_, i, args_.gate.row(k + i), heads());
    }
  }

  /// Lifts the highest scores to those of a batch, and scales what was summed under lower ones.
  void raise(const Values& highest, bool first) {
    if (first) {
      begin_row(0, 0);
      highest_ = highest;
      return;
    }
    float before[kRoom];
    float factor[kRoom];
    highest_.store(before, heads());
    highest_.update(
        heads(), [](auto most, auto s) { return s > most ? s : most; }, highest);
    highest_.store(factor, heads());
    if (std::equal(before, before + heads(), factor)) return;
    for (std::int64_t h = 0; h < heads(); ++h) factor[h] = std::exp(before[h] - factor[h]);
    const Values by = Values::load(factor, heads());
    total_.update(
        heads(), [](auto sum, auto f) { return sum * f; }, by);
    steep_.update(
        heads(), [](auto sum, auto f) { return sum * f; }, by);
    for (std::int64_t c = 0; c < panel_.width; ++c) {
      sums_.plain[c] *= factor[panel_.head_of[c]];
      sums_.steep[c] *= factor[panel_.head_of[c]];
    }
  }

  /// The same where what a head has is repeated.
  void raise_vectors(Vector most, bool first) {
    const Tag d;
    if (first) {
      begin_row(0, 0);
      highest_ = most;
      return;
    }
    const auto higher = hn::Max(highest_, most);
    if (hn::AllTrue(d, hn::Eq(higher, highest_))) return;
    const auto factor = ExpOf()(hn::Sub(highest_, higher));
    highest_ = higher;
    total_ = hn::Mul(total_, factor);
    steep_ = hn::Mul(steep_, factor);
    for (int i = 0; i < panel_.vectors; ++i) {
      const auto by = attention::spread_repeated<kHeads>(factor, panel_, i);
      for (float* sum : {sums_.plain + i * kLanes, sums_.steep + i * kLanes})
        hn::Store(hn::Mul(hn::Load(d, sum), by), d, sum);
    }
  }

  void finish(std::int64_t v) {
    float* lse = args_.lse.rows != 0 && panel_.column == 0 ? args_.lse.row(v) : nullptr;
    const Tag d;
    if constexpr (kInVectors) {
      const auto scale = hn::Div(hn::Set(d, 1.0F), total_);
      const auto steepness = hn::Mul(steep_, scale);
      for (int i = 0; i < panel_.vectors; ++i) {
        finish_columns(v, i, attention::spread_repeated<kHeads>(scale, panel_, i),
                       attention::spread_repeated<kHeads>(steepness, panel_, i));
      }
      if (lse == nullptr) return;
      alignas(64) float lanes[kLanes];
      hn::Store(hn::Add(highest_, attention::log_of(total_)), d, lanes);
      std::copy_n(lanes, kHeads, lse);
    } else {
      alignas(64) float scale[kRoom];
      alignas(64) float steepness[kRoom];
      for (std::int64_t h = 0; h < heads(); ++h) {
        scale[h] = 1 / total_.of[h];
        steepness[h] = steep_.of[h] * scale[h];
        if (lse != nullptr) lse[h] = highest_.of[h] + std::log(total_.of[h]);
      }
      const attention::Spread<kHeads, attention::kMostVectors> spread(panel_, heads());
      for (int i = 0; i < panel_.vectors; ++i) finish_columns(v, i, spread(scale, i), spread(steepness, i));
    }
  }

  /// Columns of vector i of the panel from their sums.
  void finish_columns(std::int64_t v, int i, Vector scale, Vector steepness) {
    const Tag d;
    finish_columns(args_.y.row(v), args_.tangent.rows != 0 ? args_.tangent.row(v) : nullptr, panel_, i, scale,
                   steepness, hn::Load(d, sums_.plain + i * kLanes), hn::Load(d, sums_.steep + i * kLanes));
  }
  static HWY_INLINE void finish_columns(float* y, float* tangent, const attention::Panel& panel, int i, Vector scale,
                                        Vector steepness, Vector plain, Vector steep) {
    const auto result = hn::Mul(plain, scale);
    attention::store_columns(result, panel, i, y + panel.column);
    if (tangent == nullptr) return;
    attention::store_columns(hn::NegMulAdd(steepness, result, hn::Mul(steep, scale)), panel, i, tangent + panel.column);
  }

  const AttentionArgs<float>& args_;
  const attention::Panel& panel_;
  const Scratch& scratch_;
  std::int64_t heads_;
  std::conditional_t<kBounded, attention::AddWeighed, attention::AddRows> add_;
  attention::Batch batch_;
  attention::WeighedRow row_;  ///< where weights are relative to a bound
  attention::Sums sums_;
  // The running softmax of a row, relative to its highest score; steep_ is the total with the derivatives of the ReLU.
  State highest_;
  State total_;
  State steep_;
};

/// Calls body(row) with a RowAttention of the kind that the scores ask for.
template <class Body>
void with_row(const AttentionArgs<float>& args, const attention::Panel& panel, const Scratch& scratch,
              const Body& body) {
  attention::with_heads(args.heads, [&](auto heads) HWY_ATTR {
    if constexpr (attention::kEdgesPerVector < heads >> 0) {
      if (scratch.bounded()) {
        RowAttention<heads, true> row(args, panel, scratch);
        return body(row);
      }
    }
    RowAttention<heads, false> row(args, panel, scratch);
    body(row);
  });
}

void attention_chunk(const AttentionArgs<float>& args, std::byte* memory, std::int64_t begin, std::int64_t end) {
  const Scratch scratch(args, memory);
  for (std::int64_t column = 0; column < args.z.cols; column += attention::kMostColumns) {
    const attention::Panel panel(column, args.z.cols, args.heads);
    with_row(args, panel, scratch, [&](auto& row) HWY_ATTR { row.run(begin, end); });
  }
}

/// The segments of one chunk of one tile, and of the columns of a panel from `column` on.
void attention_segments(const AttentionArgs<float>& args, std::byte* memory, std::int64_t column, std::int64_t tile,
                        std::int64_t chunk) {
  const Scratch scratch(args, memory);
  const attention::Panel panel(column, args.z.cols, args.heads);
  attention::TileIds ids(args.tiles, tile);
  with_row(args, panel, scratch, [&](auto& row) HWY_ATTR {
    attention::for_each_segment(args.tiles, chunk, [&](const RowSegment& segment, std::int64_t id) HWY_ATTR {
      row.run(segment, id, ids, tile == 0);
    });
  });
}

/// What is left to do when all segments are through.
void attention_ends(const AttentionArgs<float>& args, std::byte* memory, std::int64_t column, std::int64_t begin,
                    std::int64_t end) {
  const Scratch scratch(args, memory);
  const attention::Panel panel(column, args.z.cols, args.heads);
  with_row(args, panel, scratch, [&](auto& row) HWY_ATTR {
    for (std::int64_t v = begin; v < end; ++v) row.end(v);
  });
}

void measure_range(const Context& context, const AttentionArgs<float>& args) {
  Scratch(args, context.workspace.data()).measure(context.threads, args);
}

std::int64_t attention_columns() { return attention::kMostColumns; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {
namespace {

HWY_EXPORT(attention_chunk);
HWY_EXPORT(attention_segments);
HWY_EXPORT(attention_ends);
HWY_EXPORT(attention_columns);
HWY_EXPORT(measure_range);

void prepare(const Context& context, const AttentionArgs<float>& args) {
  HWY_DYNAMIC_DISPATCH(measure_range)(context, args);
}

}  // namespace

void attention(const Context& context, const AttentionArgs<float>& args) {
  prepare(context, args);
  parallel_edge_rows(context.threads, args.pattern.offsets, 2 * args.z.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(attention_chunk)(args, context.workspace.data(), begin, end);
  });
}

void attention_tiled(const Context& context, const AttentionArgs<float>& args) {
  prepare(context, args);
  std::byte* memory = context.workspace.data();
  const std::int64_t panel = HWY_DYNAMIC_DISPATCH(attention_columns)();
  for (std::int64_t column = 0; column < args.z.cols; column += panel) {
    for_each_tile_chunk(context.threads, args.tiles, [&](std::int64_t tile, std::int64_t chunk) {
      HWY_DYNAMIC_DISPATCH(attention_segments)(args, memory, column, tile, chunk);
    });
    parallel_rows(context.threads, args.y.rows, 4 * panel, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(attention_ends)(args, memory, column, begin, end);
    });
  }
}

BandKernel<AttentionArgs<float>> attention_bands(const AttentionArgs<float>& args) {
  BandKernel<AttentionArgs<float>> kernel;
  kernel.shared_bytes = attention_workspace_bytes(args.y.rows, args.heads, false, sizeof(float));
  kernel.prepare = prepare;
  kernel.run = [](const Context& context, const AttentionArgs<float>& all, const Band& band) {
    HWY_DYNAMIC_DISPATCH(attention_chunk)(band_of(all, band), context.workspace.data(), 0, band.end - band.begin);
  };
  return kernel;
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
