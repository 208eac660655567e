// Attention on the CPU: a row's scores in batches of edges, the softmax kept running over the batches.
//
// A batch's scores, leaky ReLUs and exponentials are vectors over edges x heads in a buffer that stays in L1; its
// neighbours' rows are then read once and added, with their weights, to the two sums in registers (attention-inl.h).
// Where a later batch has a higher score, what was summed before is scaled down. Rows of up to 32 edges have one batch,
// so their sums are those of the plain softmax. Each row is one thread's, in the order of its edges.
#include "kernels/attention.h"

#include <cmath>

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

/// The running softmax of a row, per head.
struct Softmax {
  float highest[kMostAttentionHeads];
  float total[kMostAttentionHeads];
  float steep[kMostAttentionHeads];  ///< the total with the derivative of the leaky ReLU
};

/// A row of a panel. kHeads: the number of heads where it is known to the compiler, else 0.
template <int kHeads>
class RowAttention {
 public:
  RowAttention(const AttentionArgs<float>& args, const attention::Panel& panel)
      : args_(args),
        panel_(panel),
        heads_(kHeads > 0 ? kHeads : args.heads),
        add_rows_(attention::add_rows_kernel(heads_, panel)) {}

  void run(std::int64_t v) {
    const EdgeId begin = args_.pattern.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = args_.pattern.offsets[static_cast<std::size_t>(v) + 1];
    const std::int64_t step = attention::batch_edges(heads());
    sums_.clear(panel_);
    for (EdgeId k = begin; k < end; k += step) {
      const std::int64_t count = std::min(step, end - k);
      weigh(v, k, count, k == begin);
      add_rows_(args_.z, {args_.pattern.indices.data() + k, count, args_.pattern.nonzeros() - k}, batch_, heads(),
                panel_, sums_);
    }
    if (begin == end) {
      std::fill_n(softmax_.highest, heads(), 0.0F);
      std::fill_n(softmax_.total, heads(), 1.0F);
      std::fill_n(softmax_.steep, heads(), 0.0F);
    }
    finish(v);
  }

 private:
  std::int64_t heads() const { return kHeads > 0 ? kHeads : heads_; }

  /// Fills the batch with the weights of `count` edges from k on, relative to the row's highest score so far.
  void weigh(std::int64_t v, EdgeId k, std::int64_t count, bool first) {
    const NodeId* indices = args_.pattern.indices.data() + k;
    const std::int64_t known = args_.pattern.nonzeros() - k;
    const float* own = args_.s_dst.row(v);
    for (std::int64_t i = 0; i < count; ++i) {
      hwy::Prefetch(args_.s_src.row(indices[std::min(i + attention::kBatchEdges, known - 1)]));
      const float* other = args_.s_src.row(indices[i]);
      float* to = batch_.plain + i * heads();
      for (std::int64_t h = 0; h < heads(); ++h) to[h] = other[h] + own[h];
    }
    attention::bend(batch_, count * heads(), static_cast<float>(args_.slope));
    raise(count, first);
    for (std::int64_t i = 0; i < count; ++i) {
      float* at = batch_.plain + i * heads();
      for (std::int64_t h = 0; h < heads(); ++h) at[h] -= softmax_.highest[h];
    }
    attention::exponentiate(batch_, count * heads());
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t h = 0; h < heads(); ++h) {
        softmax_.total[h] += batch_.plain[i * heads() + h];
        softmax_.steep[h] += batch_.steep[i * heads() + h];
      }
    }
    if (args_.gate.rows == 0) return;
    for (std::int64_t i = 0; i < count; ++i) {
      const float* gate = args_.gate.row(k + i);
      for (std::int64_t h = 0; h < heads(); ++h) {
        batch_.plain[i * heads() + h] *= gate[h];
        batch_.steep[i * heads() + h] *= gate[h];
      }
    }
  }

  /// Lifts the highest scores to those of the batch, and scales what was summed under lower ones.
  void raise(std::int64_t count, bool first) {
    float highest[kHeads > 0 ? kHeads : kMostAttentionHeads];
    for (std::int64_t h = 0; h < heads(); ++h) highest[h] = batch_.plain[h];
    for (std::int64_t i = 1; i < count; ++i) {
      for (std::int64_t h = 0; h < heads(); ++h) highest[h] = std::max(highest[h], batch_.plain[i * heads() + h]);
    }
    if (first) {
      for (std::int64_t h = 0; h < heads(); ++h) {
        softmax_.highest[h] = highest[h];
        softmax_.total[h] = softmax_.steep[h] = 0;
      }
      return;
    }
    float factor[kHeads > 0 ? kHeads : kMostAttentionHeads];
    bool any = false;
    for (std::int64_t h = 0; h < heads(); ++h) {
      const bool higher = highest[h] > softmax_.highest[h];
      factor[h] = higher ? std::exp(softmax_.highest[h] - highest[h]) : 1.0F;
      if (!higher) continue;
      any = true;
      softmax_.highest[h] = highest[h];
      softmax_.total[h] *= factor[h];
      softmax_.steep[h] *= factor[h];
    }
    if (!any) return;
    for (std::int64_t c = 0; c < panel_.width; ++c) {
      sums_.plain[c] *= factor[panel_.head_of[c]];
      sums_.steep[c] *= factor[panel_.head_of[c]];
    }
  }

  void finish(std::int64_t v) {
    // Room for whole vectors, of which only the first `heads` values count.
    float scale[(kHeads > 0 ? kHeads : kMostAttentionHeads) + 64];
    float steepness[(kHeads > 0 ? kHeads : kMostAttentionHeads) + 64];
    for (std::int64_t h = 0; h < heads(); ++h) {
      scale[h] = 1 / softmax_.total[h];
      steepness[h] = softmax_.steep[h] * scale[h];
    }
    const attention::Tag d;
    for (int i = 0; i < panel_.vectors; ++i) {
      const std::int32_t* head_of = panel_.head_of + i * attention::kLanes;
      float* plain = sums_.plain + i * attention::kLanes;
      float* steep = sums_.steep + i * attention::kLanes;
      const auto by = attention::spread<kHeads == 1>(scale, heads(), head_of);
      const auto y = hn::Mul(hn::Load(d, plain), by);
      hn::Store(y, d, plain);
      const auto bent = attention::spread<kHeads == 1>(steepness, heads(), head_of);
      hn::Store(hn::NegMulAdd(bent, y, hn::Mul(hn::Load(d, steep), by)), d, steep);
    }
    std::copy_n(sums_.plain, panel_.width, args_.y.row(v) + panel_.column);
    if (args_.tangent.rows != 0) std::copy_n(sums_.steep, panel_.width, args_.tangent.row(v) + panel_.column);
    if (args_.lse.rows != 0 && panel_.column == 0) {
      float* lse = args_.lse.row(v);
      for (std::int64_t h = 0; h < heads(); ++h) lse[h] = softmax_.highest[h] + std::log(softmax_.total[h]);
    }
  }

  const AttentionArgs<float>& args_;
  const attention::Panel& panel_;
  std::int64_t heads_;
  attention::AddRows add_rows_;
  attention::Batch batch_;
  attention::Sums sums_;
  Softmax softmax_;
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
