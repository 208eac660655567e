// Pieces of rows on the CPU: what a row has so far is loaded into registers, its piece's edges stream by (spmm-inl.h),
// and it is stored again. A piece of 16 edges pays for that; pieces of one edge read and write a row for each.
#include "kernels/spmm_pieces.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/spmm_pieces.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/spmm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

RowIds<NodeId> piece_ids(const SparsePattern& pattern) { return {pattern.indices.data(), pattern.nonzeros() - 1}; }

struct SumPieces {
  static constexpr int kVectors = kMostVectors;
  const SpmmPiecesArgs<float>& args;
  std::int64_t begin;
  std::int64_t end;

  template <class D, int kVectorsNow, Weights kWeights, bool kMasked>
  void run(const Panel& panel) const {
    using Edges = EdgeReader<NodeId, D, kVectorsNow, kWeights, kMasked>;
    const SparsePattern& pattern = args.sum.pattern;
    const Edges edges(args.sum, piece_ids(pattern), panel);
    if (edges.reading(pattern.offsets[static_cast<std::size_t>(end)]) == Reading::kOnce) {
      add<Reading::kOnce, D, kVectorsNow>(panel, edges);
    } else {
      add<Reading::kChecked, D, kVectorsNow>(panel, edges);
    }
  }

  template <Reading kReading, class D, int kVectorsNow, class Edges>
  HWY_INLINE void add(const Panel& panel, Edges edges) const {
    const D d;
    const EdgeId* offsets = args.sum.pattern.offsets.data();
    for (std::int64_t p = begin; p < end; ++p) {
      float* y = args.sum.y.row(args.rows[static_cast<std::size_t>(p)]) + panel.column;
      hn::Vec<D> sum[kVectorsNow];
#pragma GCC unroll 16
      for (int i = 0; i < kVectorsNow; ++i) sum[i] = edges.load(i, y);
      for (EdgeId k = offsets[p]; k < offsets[p + 1]; ++k) {
        edges.template open<kReading>(k, k);
#pragma GCC unroll 16
        for (int i = 0; i < kVectorsNow; ++i) sum[i] = edges.add_weighted(i, sum[i]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kVectorsNow; ++i) edges.store(i, sum[i], d, y);
    }
  }
};

/// Winners take as many registers again.
struct ExtremePieces {
  static constexpr int kVectors = kMostVectors / 2;
  const SpmmPiecesArgs<float>& args;
  std::int64_t begin;
  std::int64_t end;

  template <class D, int kVectorsNow, Weights kWeights, bool kMasked>
  void run(const Panel& panel) const {
    const D d;
    const hn::RebindToSigned<D> di;
    const bool maximum = args.sum.reduce == Reduce::kMax;
    EdgeReader<NodeId, D, kVectorsNow, kWeights, kMasked> edges(args.sum, piece_ids(args.sum.pattern), panel);
    const EdgeId* offsets = args.sum.pattern.offsets.data();
    const auto none = hn::Zero(di);
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t row = args.rows[static_cast<std::size_t>(p)];
      float* y = args.sum.y.row(row) + panel.column;
      std::int32_t* arg = args.sum.arg.row(row) + panel.column;
      hn::Vec<D> best[kVectorsNow];
      hn::Vec<decltype(di)> winner[kVectorsNow];
#pragma GCC unroll 16
      for (int i = 0; i < kVectorsNow; ++i) {
        best[i] = edges.load(i, y);
        winner[i] = hn::BitCast(di, edges.load(i, reinterpret_cast<const float*>(arg)));
      }
      for (EdgeId k = offsets[p]; k < offsets[p + 1]; ++k) {
        edges.template open<Reading::kChecked>(k, k);
        const auto position = hn::Set(di, args.positions[static_cast<std::size_t>(k)]);
#pragma GCC unroll 16
        for (int i = 0; i < kVectorsNow; ++i) {
          const auto term = edges.weighted(i);
          const auto better = maximum ? hn::Gt(term, best[i]) : hn::Lt(term, best[i]);
          const auto first = hn::RebindMask(d, hn::Lt(winner[i], none));
          const auto earlier = hn::And(hn::Eq(term, best[i]), hn::RebindMask(d, hn::Lt(position, winner[i])));
          const auto wins = hn::Or(first, hn::Or(better, earlier));
          best[i] = hn::IfThenElse(wins, term, best[i]);
          winner[i] = hn::IfThenElse(hn::RebindMask(di, wins), position, winner[i]);
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < kVectorsNow; ++i) {
        edges.store(i, best[i], d, y);
        edges.store(i, winner[i], di, arg);
      }
    }
  }
};

void pieces(const SpmmPiecesArgs<float>& args, std::int64_t begin, std::int64_t end) {
  if (args.sum.reduce == Reduce::kSum || args.sum.reduce == Reduce::kMean) {
    sweep(args.sum, SumPieces{args, begin, end}, 0, args.sum.y.cols);
  } else {
    sweep(args.sum, ExtremePieces{args, begin, end}, 0, args.sum.y.cols);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(pieces);

void spmm_pieces(const SpmmPiecesArgs<float>& args, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(pieces)(args, begin, end);
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
