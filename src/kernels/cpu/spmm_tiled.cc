// spmm by tiles of sources: while a tile lasts, the rows of x that it reads stay in a cache.
//
// For each tile in turn, each row's run of edges in the tile is summed in registers (spmm-inl.h) and added to y,
// which is read and written once a tile; the first tile has a segment for every row and overwrites y. It pays where a
// segment is long enough (15 edges and more) to cover that. The rows of x are read at random from a few megabytes; ids
// are 16-bit numbers in one stream, prefetched across segments; weights jump from segment to segment and are prefetched
// some segments ahead. A wide x is swept panel by panel of its columns; of one head the rows of a panel and a tile, of
// which each is read many times, are copied first. Tiles come one after another, a row belongs to one chunk of a
// tile, chunks depend on the pattern alone: threads cannot change bits. Source: the CPU study's "blk" kernel.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/packed_rows.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/spmm_tiled.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/spmm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Prefetches the weights of a segment that comes later.
HWY_INLINE void prefetch_weights(const SpmmArgs<float>& args, const RowSegment& segment) {
  const std::int64_t first = segment.first;
  const std::int64_t end = first + segment.length;
  if (args.pattern.slots.empty()) {
    for (std::int64_t i = first * args.heads; i < end * args.heads; i += 16) prefetch(args.w.data() + i);
  } else {
    for (std::int64_t k = first; k < end; k += 8) prefetch(args.pattern.slots.data() + k);
  }
}

/// Sum or mean over the segments of one chunk of one tile.
struct TileLoop {
  static constexpr int kVectors = kMostVectors;
  const SpmmArgs<float>& args;
  std::int64_t first_source;  ///< row of x that the tile's first source has
  bool adds;                  ///< to what tiles before left in y
  std::int64_t chunk;

  template <class D, int kVectorsNow, Weights kWeights, bool kMasked>
  void run(const Panel& panel) const {
    using Edges = EdgeReader<std::uint16_t, D, kVectorsNow, kWeights, kMasked>;
    const std::span<const std::uint16_t> ids = args.tiles.ids;
    const Edges edges(args, {ids.data(), static_cast<std::int64_t>(ids.size()) - 1, first_source}, panel);
    if (edges.reading(args.tiles.chunks[static_cast<std::size_t>(chunk) + 1].id) == Reading::kOnce) {
      sum_segments<Reading::kOnce, Edges, D, kVectorsNow, kWeights>(panel, edges);
    } else {
      sum_segments<Reading::kChecked, Edges, D, kVectorsNow, kWeights>(panel, edges);
    }
  }

  template <Reading kReading, class Edges, class D, int kVectorsNow, Weights kWeights>
  HWY_INLINE void sum_segments(const Panel& panel, Edges edges) const {
    const D d;
    const TiledPattern& tiles = args.tiles;
    const RowFactors<float> factors(args);
    const auto at = static_cast<std::size_t>(chunk);
    const RowSegment* end = tiles.segments.data() + tiles.chunks[at + 1].segment;
    std::int64_t id = tiles.chunks[at].id;
    for (const RowSegment* segment = tiles.segments.data() + tiles.chunks[at].segment; segment < end; ++segment) {
      constexpr std::ptrdiff_t kSegmentsAhead = 4;
      if (kWeights != Weights::kOnes && end - segment > kSegmentsAhead) prefetch_weights(args, segment[kSegmentsAhead]);
      float* y = args.y.row(segment->row) + panel.column;
      for (std::int64_t c = 0; c < panel.width; c += 16) prefetch(y + c);
      hn::Vec<D> sum[kVectorsNow];
#pragma GCC unroll 16
      for (int i = 0; i < kVectorsNow; ++i) sum[i] = hn::Zero(d);
      for (EdgeId k = segment->first; k < segment->first + segment->length; ++k, ++id) {
        edges.template open<kReading>(id, k);
#pragma GCC unroll 16
        for (int i = 0; i < kVectorsNow; ++i) sum[i] = edges.add_weighted(i, sum[i]);
      }
      const auto scale = hn::Set(d, factors.of(segment->row));
#pragma GCC unroll 16
      for (int i = 0; i < kVectorsNow; ++i) {
        edges.store(i, adds ? hn::MulAdd(sum[i], scale, edges.load(i, y)) : hn::Mul(sum[i], scale), d, y);
      }
    }
  }
};

void tile_chunk(const SpmmArgs<float>& args, std::int64_t first_source, bool adds, std::int64_t chunk,
                std::int64_t begin, std::int64_t end) {
  sweep(args, TileLoop{args, first_source, adds, chunk}, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(tile_chunk);

namespace {

/// Columns [begin, end), from copies of a tile's rows.
void sweep_packed(const Context& context, const SpmmArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const ConstMatrixView<float> x(args.x.data + begin, args.x.rows, end - begin, args.x.stride);
  SpmmArgs<float> packed = args;
  packed.y = {args.y.data + begin, args.y.rows, end - begin, args.y.stride};
  for (std::int64_t tile = 0; tile < args.tiles.num_tiles(); ++tile) {
    const std::int64_t first = tile * args.tiles.tile_cols;
    packed.x = packed_rows(context, x, first, std::min(args.tiles.tile_cols, x.rows - first));
    for_each_chunk_of(context.threads, args.tiles, tile, [&](std::int64_t chunk) {
      HWY_DYNAMIC_DISPATCH(tile_chunk)(packed, 0, tile > 0, chunk, 0, end - begin);
    });
  }
}

void sweep_in_place(const Context& context, const SpmmArgs<float>& args, std::int64_t begin, std::int64_t end) {
  for_each_tile_chunk(context.threads, args.tiles, [&](std::int64_t tile, std::int64_t chunk) {
    HWY_DYNAMIC_DISPATCH(tile_chunk)(args, tile * args.tiles.tile_cols, tile > 0, chunk, begin, end);
  });
}

}  // namespace

void spmm_tiled(const Context& context, const SpmmArgs<float>& args) {
  const bool packs = spmm_workspace_bytes(args) > 0;
  const std::int64_t panel = spmm_panel_columns(args.tiles.tile_cols);
  for (std::int64_t begin = 0; begin < args.y.cols; begin += panel) {
    (packs ? sweep_packed : sweep_in_place)(context, args, begin, std::min(args.y.cols, begin + panel));
  }
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
