// Attention on the CPU: a row's scores in batches of edges, the softmax kept running over the batches.
//
// A batch's scores, leaky ReLUs and exponentials are vectors over edges x heads in a buffer that stays in L1; its
// neighbours' rows are then read once and added, with their weights, to the two sums in registers (attention-inl.h).
// Where a later batch has a higher score, what was summed before is scaled down. Rows of up to 32 edges have one batch,
// so their sums are those of the plain softmax. Each row is one thread's, in the order of its edges.
#include "kernels/attention.h"

#include <cmath>
#include <limits>
#include <type_traits>

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

/// A row of a panel. kHeads: the number of heads where it is known to the compiler, else 0.
template <int kHeads>
class RowAttention {
  using Values = attention::PerHead<kHeads>;
  /// Are weights made in vectors of edges x heads? What a head has is then repeated for every edge of a vector.
  static constexpr bool kInVectors = attention::kEdgesPerVector<kHeads> > 0;
  using State = std::conditional_t<kInVectors, Vector, Values>;
  /// Values per head in memory, with room for whole vectors behind them.
  static constexpr std::int64_t kRoom = (kHeads > 0 ? kHeads : kMostAttentionHeads) + kLanes;

 public:
  RowAttention(const AttentionArgs<float>& args, const attention::Panel& panel)
      : args_(args),
        panel_(panel),
        heads_(kHeads > 0 ? kHeads : args.heads),
        add_rows_(attention::add_rows_kernel<kHeads>(panel)) {}

  void run(std::int64_t v) {
    const EdgeId begin = args_.pattern.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = args_.pattern.offsets[static_cast<std::size_t>(v) + 1];
    const std::int64_t step = attention::batch_edges(heads());
    sums_.clear(panel_);
    for (EdgeId k = begin; k < end; k += step) {
      const std::int64_t count = std::min(step, end - k);
      if constexpr (kInVectors) {
        weigh_in_vectors(v, k, count, k == begin);
      } else {
        weigh(v, k, count, k == begin);
      }
      apply_gate(k, count);
      add_rows_(args_.z, {args_.pattern.indices.data() + k, count, args_.pattern.nonzeros() - k}, batch_, heads(),
                panel_, sums_);
    }
    if (begin == end) begin_row(0, 1);
    finish(v);
  }

 private:
  std::int64_t heads() const { return kHeads > 0 ? kHeads : heads_; }

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

  /// Fills the batch with the weights of `count` edges from k on, relative to the row's highest score so far.
  void weigh(std::int64_t v, EdgeId k, std::int64_t count, bool first) {
    const NodeId* indices = args_.pattern.indices.data() + k;
    const std::int64_t known = args_.pattern.nonzeros() - k;
    const auto slope = static_cast<float>(args_.slope);
    const float* own = args_.s_dst.row(v);
    Values highest;
    for (std::int64_t i = 0; i < count; ++i) {
      hwy::Prefetch(args_.s_src.row(indices[std::min(i + attention::kBatchEdges, known - 1)]));
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
  void weigh_in_vectors(std::int64_t v, EdgeId k, std::int64_t count, bool first) {
    constexpr int kEdges = attention::kEdgesPerVector<kHeads>;
    const Tag d;
    const NodeId* indices = args_.pattern.indices.data() + k;
    const std::int64_t known = args_.pattern.nonzeros() - k;
    const auto own = attention::repeat<kHeads>(args_.s_dst.row(v));
    const auto slope = hn::Set(d, static_cast<float>(args_.slope));
    auto most = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (std::int64_t i = 0; i < count; i += kEdges) {
      for (std::int64_t e = i; e < i + kEdges; ++e) {
        hwy::Prefetch(args_.s_src.row(indices[std::min(e + attention::kBatchEdges, known - 1)]));
      }
      const auto raw = hn::Add(attention::load_ends<kHeads>(args_.s_src.data, args_.s_src.stride, indices + i, count - i), own);
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
    const auto plus = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
    total_ = hn::Add(total_, attention::fold<kHeads>(total, plus));
    steep_ = hn::Add(steep_, attention::fold<kHeads>(steep, plus));
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
      for (float* sum : {sums_.plain + i * kLanes, sums_.steep + i * kLanes}) hn::Store(hn::Mul(hn::Load(d, sum), by), d, sum);
    }
  }

  void finish(std::int64_t v) {
    float* lse = args_.lse.rows != 0 && panel_.column == 0 ? args_.lse.row(v) : nullptr;
    const Tag d;
    if constexpr (kInVectors) {
      const auto scale = hn::Div(hn::Set(d, 1.0F), total_);
      const auto steepness = hn::Mul(steep_, scale);
      for (int i = 0; i < panel_.vectors; ++i) {
        finish_columns(v, i, attention::spread_repeated<kHeads>(scale, panel_, i), attention::spread_repeated<kHeads>(steepness, panel_, i));
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
    const auto y = hn::Mul(hn::Load(d, sums_.plain + i * kLanes), scale);
    attention::store_columns(y, panel_, i, args_.y.row(v) + panel_.column);
    if (args_.tangent.rows == 0) return;
    const auto steep = hn::Mul(hn::Load(d, sums_.steep + i * kLanes), scale);
    attention::store_columns(hn::NegMulAdd(steepness, y, steep), panel_, i, args_.tangent.row(v) + panel_.column);
  }

  const AttentionArgs<float>& args_;
  const attention::Panel& panel_;
  std::int64_t heads_;
  attention::AddRows add_rows_;
  attention::Batch batch_;
  attention::Sums sums_;
  // The running softmax of a row, relative to its highest score; steep_ is the total with the derivatives of the ReLU.
  State highest_;
  State total_;
  State steep_;
};

template <int kHeads>
void attend_rows(const AttentionArgs<float>& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t column = 0; column < args.z.cols; column += attention::kMostColumns) {
    const attention::Panel panel(column, args.z.cols, args.heads);
    RowAttention<kHeads> row(args, panel);
    for (std::int64_t v = begin; v < end; ++v) row.run(v);
  }
}

void attention_chunk(const AttentionArgs<float>& args, std::int64_t begin, std::int64_t end) {
  switch (args.heads) {
    case 1:
      return attend_rows<1>(args, begin, end);
    case 4:
      return attend_rows<4>(args, begin, end);
    case 8:
      return attend_rows<8>(args, begin, end);
    default:
      return attend_rows<0>(args, begin, end);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {
namespace {

HWY_EXPORT(attention_chunk);

}  // namespace

void attention(const Context& context, const AttentionArgs<float>& args) {
  parallel_edge_rows(context.threads, args.pattern.offsets, 2 * args.z.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(attention_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
