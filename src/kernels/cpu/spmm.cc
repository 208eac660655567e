// spmm on the CPU: the whole output row in registers while its edges stream by.
//
// A panel of up to 16 vectors of columns (256 f32 with AVX-512, 64 with AVX2) is accumulated over the edges of a row
// and stored once; widths are compile-time numbers of vectors, the last one masked. Rows of x are prefetched 16 KB
// ahead in the flat list of edges (4 to 32 edges: nearer is covered by the out-of-order window, farther thrashes L1).
// Chunks of rows have equal numbers of edges. Each output row is summed in the order of its edges, so threads cannot
// change bits. Source: the CPU study's "v3" kernel: 2.5–3x a tiled kernel that keeps sums in memory.
#include <utility>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/spmm.cc"
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
constexpr int kMostVectors = HWY_TARGET <= HWY_AVX3 ? 16 : 8;
/// Where a masked load may fault (SSE4, NEON), tails go element by element. AVX2 is safe for 32-bit elements.
constexpr bool kMasks = HWY_MEM_OPS_MIGHT_FAULT == 0 || HWY_TARGET == HWY_AVX2;

enum class Weights { kOnes, kOnePerEdge, kOnePerHead };

/// A range of rows and columns; `head` is the one whose weights kOnePerEdge uses.
struct Panel {
  std::int64_t row_begin;
  std::int64_t row_end;
  std::int64_t column;
  std::int64_t width;
  std::int64_t head = 0;
};

/// Streams x rows and weights of consecutive edges.
template <class D, int kVectors, Weights kWeights, bool kMasked>
class EdgeReader {
 public:
  using V = hn::Vec<D>;

  HWY_INLINE EdgeReader(const SpmmArgs<float>& args, const Panel& panel)
      : x_(args.x.data + panel.column),
        stride_(args.x.stride),
        indices_(args.pattern.indices.data()),
        slots_(args.pattern.slots.empty() ? nullptr : args.pattern.slots.data()),
        w_(args.w.data() + panel.head),
        heads_(args.heads),
        last_(args.pattern.nonzeros() - 1),
        tail_(hn::FirstN(d_, tail_of(panel.width))),
        weight_mask_(hn::FirstN(d_, static_cast<std::size_t>(std::min(args.heads, kLanes)))) {
    ahead_ = std::clamp<std::int64_t>(16384 / (panel.width * static_cast<std::int64_t>(sizeof(float))), 4, 32);
    if constexpr (kWeights == Weights::kOnePerHead) {
      const std::int64_t head_width = args.y.cols / args.heads;
      for (int i = 0; i < kVectors * kLanes; ++i) {
        head_of_[i] = static_cast<std::int32_t>(std::min((panel.column + i) / head_width, args.heads - 1));
      }
    }
  }

  /// Starts the edge: prefetches a later row and loads what its weights need.
  HWY_INLINE void open(EdgeId k) {
    const float* later = x_ + static_cast<std::int64_t>(indices_[std::min(k + ahead_, last_)]) * stride_;
    for (std::int64_t c = 0; c < kVectors * lanes(); c += 16) hwy::Prefetch(later + c);
    row_ = x_ + static_cast<std::int64_t>(indices_[k]) * stride_;
    if constexpr (kWeights == Weights::kOnes) return;
    const float* weight = w_ + (slots_ == nullptr ? k : slots_[k]) * heads_;
    if constexpr (kWeights == Weights::kOnePerEdge) weight_ = hn::Set(d_, *weight);
    if constexpr (kWeights == Weights::kOnePerHead) weight_ = hn::MaskedLoad(weight_mask_, d_, weight);
  }

  HWY_INLINE V x(int i) const {
    const float* at = row_ + i * lanes();
    if (kMasked && i == kVectors - 1) return hn::MaskedLoad(tail_, d_, at);
    return hn::LoadU(d_, at);
  }

  HWY_INLINE V weight(int i) const {
    if constexpr (kWeights == Weights::kOnePerHead) {
      return hn::TableLookupLanes(weight_, hn::SetTableIndices(d_, head_of_ + i * lanes()));
    } else {
      return weight_;
    }
  }

  HWY_INLINE V weighted(int i) const {
    if constexpr (kWeights == Weights::kOnes) return x(i);
    return hn::Mul(weight(i), x(i));
  }

  HWY_INLINE V add_weighted(int i, V sum) const {
    if constexpr (kWeights == Weights::kOnes) return hn::Add(sum, x(i));
    return hn::MulAdd(weight(i), x(i), sum);
  }

  template <class DT, class VT, class T>
  HWY_INLINE void store(int i, VT value, DT tag, T* row) const {
    T* at = row + i * lanes();
    if (kMasked && i == kVectors - 1) {
      hn::BlendedStore(value, hn::RebindMask(tag, tail_), tag, at);
    } else {
      hn::StoreU(value, tag, at);
    }
  }

 private:
  static constexpr std::int64_t lanes() { return hn::MaxLanes(D()); }
  static std::size_t tail_of(std::int64_t width) { return static_cast<std::size_t>(width - (kVectors - 1) * lanes()); }

  D d_;
  const float* x_;
  std::int64_t stride_;
  const NodeId* indices_;
  const EdgeId* slots_;
  const float* w_;
  std::int64_t heads_;
  EdgeId last_;
  EdgeId ahead_;
  const float* row_ = nullptr;
  V weight_{};
  hn::Mask<D> tail_;
  hn::Mask<D> weight_mask_;
  alignas(64) std::int32_t head_of_[kWeights == Weights::kOnePerHead ? kVectors * kLanes : 1]{};
};

/// Sum or mean of one panel.
template <class D, int kVectors, Weights kWeights, bool kMasked>
void sum_panel(const SpmmArgs<float>& args, const Panel& panel) {
  const D d;
  EdgeReader<D, kVectors, kWeights, kMasked> edges(args, panel);
  for (std::int64_t v = panel.row_begin; v < panel.row_end; ++v) {
    const EdgeId begin = args.pattern.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = args.pattern.offsets[static_cast<std::size_t>(v) + 1];
    hn::Vec<D> sum[kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) sum[i] = hn::Zero(d);
    for (EdgeId k = begin; k < end; ++k) {
      edges.open(k);
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) sum[i] = edges.add_weighted(i, sum[i]);
    }
    const bool divides = args.reduce == Reduce::kMean && end > begin;
    const auto scale = hn::Set(d, divides ? 1.0F / static_cast<float>(end - begin) : 1.0F);
    float* y = args.y.row(v) + panel.column;
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) edges.store(i, hn::Mul(sum[i], scale), d, y);
  }
}

/// Maximum or minimum of one panel, with the position of each winner.
template <class D, int kVectors, Weights kWeights, bool kMasked>
void extreme_panel(const SpmmArgs<float>& args, const Panel& panel) {
  const D d;
  const hn::RebindToSigned<D> di;
  const bool maximum = args.reduce == Reduce::kMax;
  EdgeReader<D, kVectors, kWeights, kMasked> edges(args, panel);
  for (std::int64_t v = panel.row_begin; v < panel.row_end; ++v) {
    const EdgeId begin = args.pattern.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = args.pattern.offsets[static_cast<std::size_t>(v) + 1];
    hn::Vec<D> best[kVectors];
    hn::Vec<decltype(di)> winner[kVectors];
    if (begin < end) edges.open(begin);
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) {
      best[i] = begin < end ? edges.weighted(i) : hn::Zero(d);
      winner[i] = hn::Set(di, begin < end ? 0 : -1);
    }
    for (EdgeId k = begin + 1; k < end; ++k) {
      edges.open(k);
      const auto position = hn::Set(di, static_cast<std::int32_t>(k - begin));
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) {
        const auto term = edges.weighted(i);
        const auto wins = maximum ? hn::Gt(term, best[i]) : hn::Lt(term, best[i]);
        best[i] = hn::IfThenElse(wins, term, best[i]);
        winner[i] = hn::IfThenElse(hn::RebindMask(di, wins), position, winner[i]);
      }
    }
    float* y = args.y.row(v) + panel.column;
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) edges.store(i, best[i], d, y);
    if (args.arg.data == nullptr) continue;
    std::int32_t* arg = args.arg.row(v) + panel.column;
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) edges.store(i, winner[i], di, arg);
  }
}

using PanelKernel = void (*)(const SpmmArgs<float>&, const Panel&);

/// The kernel for 1 + I vectors, for each I.
template <class D, Weights kWeights, bool kMasked, int... I>
PanelKernel sum_kernel(std::int64_t vectors, std::integer_sequence<int, I...>) {
  static constexpr PanelKernel kKernels[] = {sum_panel<D, 1 + I, kWeights, kMasked>...};
  return kKernels[vectors - 1];
}
template <class D, Weights kWeights, bool kMasked, int... I>
PanelKernel extreme_kernel(std::int64_t vectors, std::integer_sequence<int, I...>) {
  static constexpr PanelKernel kKernels[] = {extreme_panel<D, 1 + I, kWeights, kMasked>...};
  return kKernels[vectors - 1];
}

template <class D, Weights kWeights, bool kMasked>
PanelKernel panel_kernel(Reduce reduce, std::int64_t vectors) {
  if (reduce == Reduce::kSum || reduce == Reduce::kMean) {
    return sum_kernel<D, kWeights, kMasked>(vectors, std::make_integer_sequence<int, kMostVectors>());
  }
  return extreme_kernel<D, kWeights, kMasked>(vectors, std::make_integer_sequence<int, kMostVectors / 2>());
}

/// All columns of `panel`, a panel of registers at a time.
template <Weights kWeights>
void sweep_columns(const SpmmArgs<float>& args, Panel panel) {
  const bool extreme = args.reduce == Reduce::kMax || args.reduce == Reduce::kMin;
  const std::int64_t most = (extreme ? kMostVectors / 2 : kMostVectors) * kLanes;
  const std::int64_t end = panel.column + panel.width;
  for (; panel.column < end; panel.column += panel.width) {
    panel.width = std::min(most, end - panel.column);
    const std::int64_t tail = panel.width % kLanes;
    if (tail == 0) {
      panel_kernel<Tag, kWeights, false>(args.reduce, panel.width / kLanes)(args, panel);
    } else if constexpr (kMasks) {
      panel_kernel<Tag, kWeights, true>(args.reduce, panel.width / kLanes + 1)(args, panel);
    } else if (panel.width > tail) {
      panel.width -= tail;
      panel_kernel<Tag, kWeights, false>(args.reduce, panel.width / kLanes)(args, panel);
    } else if constexpr (kWeights != Weights::kOnePerHead) {
      panel.width = std::min<std::int64_t>(tail, kMostVectors / 2);
      panel_kernel<hn::CappedTag<float, 1>, kWeights, false>(args.reduce, panel.width)(args, panel);
    }
  }
}

void spmm_chunk(const SpmmArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const Panel all{begin, end, 0, args.y.cols};
  if (args.w.empty()) return sweep_columns<Weights::kOnes>(args, all);
  if (args.heads == 1) return sweep_columns<Weights::kOnePerEdge>(args, all);
  if constexpr (kMasks) {
    if (args.heads <= kLanes) return sweep_columns<Weights::kOnePerHead>(args, all);
  }
  const std::int64_t head_width = args.y.cols / args.heads;
  for (std::int64_t h = 0; h < args.heads; ++h) {
    sweep_columns<Weights::kOnePerEdge>(args, {begin, end, h * head_width, head_width, h});
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(spmm_chunk);

void spmm(const Context& context, const SpmmArgs<float>& args) {
  parallel_edge_rows(context.threads, args.pattern.offsets, args.y.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(spmm_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
