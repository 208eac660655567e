// What the spmm kernels share: panels of columns in registers, readers of edges, the choice of a compiled kernel.
//
// A panel of up to 16 vectors of columns (256 f32 with AVX-512, 64 with AVX2) is accumulated over a run of edges and
// stored once; widths are compile-time numbers of vectors, the last one masked. Rows of x are fetched ahead of the edge
// that is added (fetch_ahead.h).
//
// Included once for each instruction set, inside foreach_target.
#if defined(GNEISS_KERNELS_CPU_SPMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNEISS_KERNELS_CPU_SPMM_INL_H_
#undef GNEISS_KERNELS_CPU_SPMM_INL_H_
#else
#define GNEISS_KERNELS_CPU_SPMM_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "kernels/cpu/fetch_ahead.h"
#include "kernels/cpu/vectors-inl.h"
#include "kernels/spmm.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int kMostVectors = HWY_TARGET <= HWY_AVX3 ? 16 : 8;

enum class Weights { kOnes, kOnePerEdge, kOnePerHead };

/// How a run of edges is read. Where rows come from a cache near by, asking for each edge what holds for all of the run
/// takes longer than its row.
enum class Reading {
  kChecked,  ///< any edges: how far ahead there are others, whether rows are fetched twice and where weights lie is
             ///< asked for each
  kOnce,     ///< weights lie in the order of the edges, all edges that are looked ahead to exist, and rows are fetched
             ///< once
  kTwice,    ///< the same, but rows are fetched twice
};

/// A range of columns; `head` is the one whose weights kOnePerEdge uses.
struct Panel {
  std::int64_t column;
  std::int64_t width;
  std::int64_t head = 0;
};

/// Where the rows of x are: the row of id `i` is x.row(first + ids[i]).
template <class Id>
struct RowIds {
  const Id* ids;
  std::int64_t last;  ///< position of the last id
  std::int64_t first = 0;
};

/// Streams x rows and weights of consecutive edges.
template <class Id, class D, int kVectors, Weights kWeights, bool kMasked>
class EdgeReader {
 public:
  using V = hn::Vec<D>;

  HWY_INLINE EdgeReader(const SpmmArgs<float>& args, const RowIds<Id>& rows, const Panel& panel)
      : x_(args.x.data + rows.first * args.x.stride + panel.column),
        stride_(args.x.stride),
        ids_(rows.ids),
        slots_(args.pattern.slots.empty() ? nullptr : args.pattern.slots.data()),
        last_slot_(static_cast<EdgeId>(args.pattern.slots.size()) - 1),
        w_(args.w.data() + panel.head),
        heads_(args.heads),
        last_(rows.last),
        ahead_(fetch_ahead(panel.width * kFloat, args.x.rows * args.x.stride * kFloat)),
        tail_(hn::FirstN(d_, tail_of(panel.width))),
        weight_mask_(hn::FirstN(d_, static_cast<std::size_t>(std::min(args.heads, kLanes)))) {
    if constexpr (kWeights == Weights::kOnePerHead) {
      const std::int64_t head_width = args.y.cols / args.heads;
      for (int i = 0; i < kVectors * kLanes; ++i) {
        head_of_[i] = static_cast<std::int32_t>(std::min((panel.column + i) / head_width, args.heads - 1));
      }
    }
  }

  /// How edges can be read whose ids lie before position `end`.
  Reading reading(std::int64_t end) const {
    const bool in_order = kWeights == Weights::kOnes || slots_ == nullptr;
    if (!in_order || end + std::max(ahead_.far, ahead_.near) > last_ + 1) return Reading::kChecked;
    return ahead_.far > 0 ? Reading::kTwice : Reading::kOnce;
  }

  /// Starts edge k, whose id is at position i: fetches later rows and loads what its weights need.
  template <Reading kReading>
  HWY_INLINE void open(std::int64_t i, EdgeId k) {
    constexpr bool kChecked = kReading == Reading::kChecked;
    const auto later = [&](std::int64_t edges) { return row(kChecked ? std::min(i + edges, last_) : i + edges); };
    if (!kInCache && (kReading == Reading::kTwice || (kChecked && ahead_.far > 0))) {
      const float* far = later(ahead_.far);
      for (std::int64_t c = 0; c < kVectors * lanes(); c += kLine) prefetch_far(far + c);
    }
    const float* near = later(ahead_.near);
    for (std::int64_t c = 0; c < kVectors * lanes(); c += kLine)
      hwy::Prefetch(near + c);  // no asm statement as in prefetch(): it takes blocks 4 % longer
    row_ = row(i);
    if constexpr (kWeights == Weights::kOnes) return;
    const float* weight = w_ + k * heads_;
    if (kChecked && slots_ != nullptr) {
      prefetch(w_ + slots_[std::min(k + kWeightsAhead, last_slot_)] * heads_);
      weight = w_ + slots_[k] * heads_;
    }
    if constexpr (kWeights == Weights::kOnePerEdge) weight_ = hn::Set(d_, *weight);
    if constexpr (kWeights == Weights::kOnePerHead) weight_ = hn::MaskedLoad(weight_mask_, d_, weight);
  }

  HWY_INLINE V x(int i) const { return load(i, row_); }

  /// Vector i of a row of the panel.
  HWY_INLINE V load(int i, const float* row) const {
    const float* at = row + i * lanes();
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

  /// Past the caches, but for the end of a row.
  HWY_INLINE void store_past(int i, V value, D tag, float* row) const {
    if (kMasked && i == kVectors - 1) return store(i, value, tag, row);
    hn::Stream(value, tag, row + i * lanes());
  }

 private:
  static constexpr bool kInCache = sizeof(Id) < sizeof(NodeId);  ///< of a block of rows that the second-level cache has
  static FetchAhead fetch_ahead(std::int64_t bytes, std::int64_t table_bytes) {
    return kInCache ? FetchAhead::from_cache(bytes) : FetchAhead::from_table(bytes, table_bytes);
  }
  static constexpr std::int64_t kFloat = sizeof(float);
  static constexpr std::int64_t kLine = 64 / kFloat;
  static constexpr EdgeId kWeightsAhead = 32;  ///< edges ahead of those whose weights jump

  /// The row whose id is at position i.
  HWY_INLINE const float* row(std::int64_t i) const { return x_ + static_cast<std::int64_t>(ids_[i]) * stride_; }
  static constexpr std::int64_t lanes() { return hn::MaxLanes(D()); }
  static std::size_t tail_of(std::int64_t width) { return static_cast<std::size_t>(width - (kVectors - 1) * lanes()); }

  D d_;
  const float* x_;
  std::int64_t stride_;
  const Id* ids_;
  const EdgeId* slots_;
  EdgeId last_slot_;
  const float* w_;
  std::int64_t heads_;
  std::int64_t last_;
  FetchAhead ahead_;
  const float* row_ = nullptr;
  V weight_{};
  hn::Mask<D> tail_;
  hn::Mask<D> weight_mask_;
  alignas(64) std::int32_t head_of_[kWeights == Weights::kOnePerHead ? kVectors * kLanes : 1]{};
};

template <class D, int kVectors, Weights kWeights, bool kMasked, class Loop>
void run_form(const Loop& loop, const Panel& panel) {
  loop.template run<D, kVectors, kWeights, kMasked>(panel);
}

/// Runs the form of a loop for 1 + I vectors, compiled for each I.
template <class D, Weights kWeights, bool kMasked, class Loop, int... I>
void run_compiled(const Loop& loop, const Panel& panel, std::int64_t vectors, std::integer_sequence<int, I...>) {
  using Form = void (*)(const Loop&, const Panel&);
  static constexpr Form kForms[] = {run_form<D, 1 + I, kWeights, kMasked, Loop>...};
  kForms[vectors - 1](loop, panel);
}
template <class D, Weights kWeights, bool kMasked, class Loop>
void run_panel(const Loop& loop, const Panel& panel, std::int64_t vectors) {
  run_compiled<D, kWeights, kMasked>(loop, panel, vectors, std::make_integer_sequence<int, Loop::kVectors>());
}

/// All columns of `panel`, at most Loop::kVectors vectors at a time.
template <Weights kWeights, class Loop>
void sweep_columns(const Loop& loop, Panel panel) {
  const std::int64_t end = panel.column + panel.width;
  for (; panel.column < end; panel.column += panel.width) {
    panel.width = std::min(Loop::kVectors * kLanes, end - panel.column);
    const std::int64_t tail = panel.width % kLanes;
    if (tail == 0) {
      run_panel<Tag, kWeights, false>(loop, panel, panel.width / kLanes);
    } else if constexpr (kMasks) {
      run_panel<Tag, kWeights, true>(loop, panel, panel.width / kLanes + 1);
    } else if (panel.width > tail) {
      panel.width -= tail;
      run_panel<Tag, kWeights, false>(loop, panel, panel.width / kLanes);
    } else if constexpr (kWeights != Weights::kOnePerHead) {
      panel.width = std::min<std::int64_t>(tail, kMostVectors / 2);
      run_panel<hn::CappedTag<float, 1>, kWeights, false>(loop, panel, panel.width);
    }
  }
}

/// Runs loop.run<D, kVectors, kWeights, kMasked>(panel) for panels that cover columns [begin, end) of y.
template <class Loop>
void sweep(const SpmmArgs<float>& args, const Loop& loop, std::int64_t begin, std::int64_t end) {
  const Panel all{begin, end - begin};
  if (args.w.empty()) return sweep_columns<Weights::kOnes>(loop, all);
  if (args.heads == 1) return sweep_columns<Weights::kOnePerEdge>(loop, all);
  if constexpr (kMasks) {
    if (args.heads <= kLanes) return sweep_columns<Weights::kOnePerHead>(loop, all);
  }
  const std::int64_t head_width = args.y.cols / args.heads;
  for (std::int64_t h = begin / head_width; h * head_width < end; ++h) {
    const std::int64_t first = std::max(begin, h * head_width);
    sweep_columns<Weights::kOnePerEdge>(loop, {first, std::min(end, (h + 1) * head_width) - first, h});
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#endif  // GNEISS_KERNELS_CPU_SPMM_INL_H_
