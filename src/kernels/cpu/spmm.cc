// spmm on the CPU: the whole output row in registers while its edges stream by (spmm-inl.h).
//
// Chunks of rows have equal numbers of edges. Each output row is summed in the order of its edges, so threads cannot
// change bits. Source: the CPU study's "v3" kernel: 2.5–3x a tiled kernel that keeps sums in memory.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"
#include "kernels/cpu/store_past.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/spmm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/spmm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

RowIds<NodeId> row_ids(const SparsePattern& pattern) { return {pattern.indices.data(), pattern.nonzeros() - 1}; }

/// Sum or mean over rows [row_begin, row_end) of one panel.
template <Reading kReading, class Edges, class D, int kVectors>
HWY_INLINE void sum_rows(const SpmmArgs<float>& args, const Panel& panel, std::int64_t row_begin, std::int64_t row_end,
                         Edges edges) {
  const D d;
  const bool past_caches = stores_past_caches(args.y, panel.column);
  const RowFactors<float> factors(args);
  const EdgeId* offsets = args.pattern.offsets.data();
  const std::int64_t y_stride = args.y.stride;
  float* y = args.y.row(row_begin) + panel.column;
  for (std::int64_t v = row_begin; v < row_end; ++v, y += y_stride) {
    const EdgeId begin = offsets[v];
    const EdgeId end = offsets[v + 1];
    hn::Vec<D> sum[kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) sum[i] = hn::Zero(d);
    for (EdgeId k = begin; k < end; ++k) {
      edges.template open<kReading>(k, k);
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) sum[i] = edges.add_weighted(i, sum[i]);
    }
    const auto scale = hn::Set(d, factors.of(v));
    if (past_caches) {
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) edges.store_past(i, hn::Mul(sum[i], scale), d, y);
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) edges.store(i, hn::Mul(sum[i], scale), d, y);
    }
  }
  if (past_caches) hwy::FlushStream();  // before other threads are told that the rows are there
}

template <class D, int kVectors, Weights kWeights, bool kMasked>
void sum_panel(const SpmmArgs<float>& args, const Panel& panel, std::int64_t row_begin, std::int64_t row_end) {
  using Edges = EdgeReader<NodeId, D, kVectors, kWeights, kMasked>;
  const Edges edges(args, row_ids(args.pattern), panel);
  switch (edges.reading(args.pattern.offsets[static_cast<std::size_t>(row_end)])) {
    case Reading::kChecked:
      return sum_rows<Reading::kChecked, Edges, D, kVectors>(args, panel, row_begin, row_end, edges);
    case Reading::kOnce:
      return sum_rows<Reading::kOnce, Edges, D, kVectors>(args, panel, row_begin, row_end, edges);
    case Reading::kTwice:
      return sum_rows<Reading::kTwice, Edges, D, kVectors>(args, panel, row_begin, row_end, edges);
  }
}

/// Maximum or minimum of one panel, with the position of each winner.
template <class D, int kVectors, Weights kWeights, bool kMasked>
void extreme_panel(const SpmmArgs<float>& args, const Panel& panel, std::int64_t row_begin, std::int64_t row_end) {
  const D d;
  const hn::RebindToSigned<D> di;
  const bool maximum = args.reduce == Reduce::kMax;
  EdgeReader<NodeId, D, kVectors, kWeights, kMasked> edges(args, row_ids(args.pattern), panel);
  for (std::int64_t v = row_begin; v < row_end; ++v) {
    const EdgeId begin = args.pattern.offsets[static_cast<std::size_t>(v)];
    const EdgeId end = args.pattern.offsets[static_cast<std::size_t>(v) + 1];
    hn::Vec<D> best[kVectors];
    hn::Vec<decltype(di)> winner[kVectors];
    if (begin < end) edges.template open<Reading::kChecked>(begin, begin);
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) {
      best[i] = begin < end ? edges.weighted(i) : hn::Zero(d);
      winner[i] = hn::Set(di, begin < end ? 0 : -1);
    }
    for (EdgeId k = begin + 1; k < end; ++k) {
      edges.template open<Reading::kChecked>(k, k);
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

struct SumLoop {
  static constexpr int kVectors = kMostVectors;
  const SpmmArgs<float>& args;
  std::int64_t begin;
  std::int64_t end;

  template <class D, int kVectorsNow, Weights kWeights, bool kMasked>
  void run(const Panel& panel) const {
    sum_panel<D, kVectorsNow, kWeights, kMasked>(args, panel, begin, end);
  }
};

/// Winners take as many registers again.
struct ExtremeLoop {
  static constexpr int kVectors = kMostVectors / 2;
  const SpmmArgs<float>& args;
  std::int64_t begin;
  std::int64_t end;

  template <class D, int kVectorsNow, Weights kWeights, bool kMasked>
  void run(const Panel& panel) const {
    extreme_panel<D, kVectorsNow, kWeights, kMasked>(args, panel, begin, end);
  }
};

void spmm_chunk(const SpmmArgs<float>& args, std::int64_t begin, std::int64_t end) {
  if (args.reduce == Reduce::kSum || args.reduce == Reduce::kMean) {
    sweep(args, SumLoop{args, begin, end}, 0, args.y.cols);
  } else {
    sweep(args, ExtremeLoop{args, begin, end}, 0, args.y.cols);
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
