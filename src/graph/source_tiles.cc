// Counts the segments and entries of every (task, tile), then lets every task write its own ranges: tasks are fixed
// ranges of rows, so every segment's place is known before the first is written.
#include "graph/source_tiles.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss::graph {
namespace {

/// Work of a chunk: its entries, and 2 for the overhead of each segment. Some 25 µs at 32 columns.
constexpr std::int64_t kChunkCost = 16384;
constexpr std::int64_t kSegmentCost = 2;
/// Ranges of rows that are counted and written as one.
constexpr std::int64_t kTasks = 256;

/// What a task adds to a tile; after the prefix sums, where it starts to write.
struct Count {
  std::int64_t segments = 0;
  std::int64_t ids = 0;
};

/// Calls body(tile, first entry, end) for each segment of row v.
template <class Body>
void for_each_segment(const SparsePattern& pattern, std::int64_t tile_cols, std::int64_t v, const Body& body) {
  const EdgeId end = pattern.offsets[static_cast<std::size_t>(v) + 1];
  EdgeId k = pattern.offsets[static_cast<std::size_t>(v)];
  if (k == end || pattern.indices[static_cast<std::size_t>(k)] >= tile_cols) body(0, k, k);
  while (k < end) {
    const std::int64_t tile = pattern.indices[static_cast<std::size_t>(k)] / tile_cols;
    const std::int64_t begin = tile * tile_cols;
    const EdgeId first = k;
    while (k < end && pattern.indices[static_cast<std::size_t>(k)] >= begin &&
           pattern.indices[static_cast<std::size_t>(k)] < begin + tile_cols) {
      ++k;
    }
    body(tile, first, k);
  }
}

/// Turns counts per (task, tile) into first places, tile after tile; returns the totals.
Count place(std::vector<Count>* counts, std::int64_t tiles) {
  Count sum;
  const std::int64_t tasks = static_cast<std::int64_t>(counts->size()) / tiles;
  for (std::int64_t b = 0; b < tiles; ++b) {
    for (std::int64_t t = 0; t < tasks; ++t) {
      Count& count = (*counts)[static_cast<std::size_t>(t * tiles + b)];
      const Count own = std::exchange(count, sum);
      sum.segments += own.segments;
      sum.ids += own.ids;
    }
  }
  return sum;
}

/// The chunks of segments [begin, end), whose entries start at `id`; returns where they end.
std::int64_t cut(std::span<const RowSegment> segments, std::int64_t begin, std::int64_t end, std::int64_t id,
                 std::vector<SegmentChunk>* chunks) {
  std::int64_t cost = kChunkCost;
  for (std::int64_t s = begin; s < end; ++s) {
    if (cost >= kChunkCost) {
      chunks->push_back({s, id});
      cost = 0;
    }
    const std::int32_t length = segments[static_cast<std::size_t>(s)].length;
    cost += length + kSegmentCost;
    id += length;
  }
  return id;
}

/// Counts per (task, tile). Errors: kInternal for a row that comes back to a tile.
std::vector<Count> count_segments(const SparsePattern& pattern, std::int64_t tile_cols, std::int64_t tiles,
                                  std::int64_t grain, int threads) {
  std::vector<Count> counts(static_cast<std::size_t>(num_chunks(pattern.rows, grain) * tiles));
  std::atomic<bool> sorted = true;
  parallel_chunks(threads, pattern.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    Count* own = counts.data() + begin / grain * tiles;
    for (std::int64_t v = begin; v < end; ++v) {
      std::int64_t before = -1;
      for_each_segment(pattern, tile_cols, v, [&](std::int64_t tile, EdgeId first, EdgeId last) {
        if (tile <= before) sorted = false;
        before = tile;
        own[tile].segments += 1;
        own[tile].ids += last - first;
      });
    }
  });
  GNEISS_ASSERT(sorted, "tiles of columns need sorted rows");
  return counts;
}

/// Writes the segments and ids of every task from the places that `starts` names.
void write_segments(const SparsePattern& pattern, std::int64_t tiles, std::int64_t grain, std::vector<Count> starts,
                    int threads, SourceTiles* out) {
  parallel_chunks(threads, pattern.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    Count* own = starts.data() + begin / grain * tiles;
    for (std::int64_t v = begin; v < end; ++v) {
      for_each_segment(pattern, out->tile_cols, v, [&](std::int64_t tile, EdgeId first, EdgeId last) {
        Count& at = own[tile];
        out->segments[static_cast<std::size_t>(at.segments++)] = {first, static_cast<std::int32_t>(v),
                                                                  static_cast<std::int32_t>(last - first)};
        const auto base = static_cast<NodeId>(tile * out->tile_cols);
        for (EdgeId k = first; k < last; ++k) {
          out->ids[static_cast<std::size_t>(at.ids++)] =
              static_cast<std::uint16_t>(pattern.indices[static_cast<std::size_t>(k)] - base);
        }
      });
    }
  });
}

/// Copies what is marked of one chunk after another.
class PartOfChunks {
 public:
  PartOfChunks(const SourceTiles& whole, EntryEnd end, std::span<const std::uint8_t> marked)
      : whole_(whole), end_(end), marked_(marked) {}

  Count count(std::int64_t tile, std::int64_t chunk) const {
    Count sum;
    walk(tile, chunk, [&](const RowSegment& segment, std::int64_t id, std::int64_t base) {
      const std::int64_t kept = count_marked(segment, id, base);
      sum.ids += kept;
      sum.segments += kept > 0 || tile == 0 ? 1 : 0;
    });
    return sum;
  }

  void copy(std::int64_t tile, std::int64_t chunk, Count to, SourceTiles* part) const {
    walk(tile, chunk, [&](const RowSegment& segment, std::int64_t id, std::int64_t base) {
      const std::int64_t first = to.ids;
      for (std::int64_t i = id; i < id + segment.length; ++i) {
        if (is_marked(segment, i, base))
          part->ids[static_cast<std::size_t>(to.ids++)] = whole_.ids[static_cast<std::size_t>(i)];
      }
      const auto length = static_cast<std::int32_t>(to.ids - first);
      if (length > 0 || tile == 0)
        part->segments[static_cast<std::size_t>(to.segments++)] = {segment.first, segment.row, length};
    });
  }

 private:
  bool is_marked(const RowSegment& segment, std::int64_t i, std::int64_t base) const {
    const std::int64_t at = end_ == EntryEnd::kRow ? segment.row : base + whole_.ids[static_cast<std::size_t>(i)];
    return marked_[static_cast<std::size_t>(at)] != 0;
  }

  std::int64_t count_marked(const RowSegment& segment, std::int64_t id, std::int64_t base) const {
    std::int64_t kept = 0;
    for (std::int64_t i = id; i < id + segment.length; ++i) kept += is_marked(segment, i, base) ? 1 : 0;
    return kept;
  }

  /// Calls visit(segment, its first id, first column of the tile) for the segments of a chunk.
  template <class Visit>
  void walk(std::int64_t tile, std::int64_t chunk, const Visit& visit) const {
    const SegmentChunk& begin = whole_.chunks[static_cast<std::size_t>(chunk)];
    std::int64_t id = begin.id;
    for (std::int64_t s = begin.segment; s < whole_.chunks[static_cast<std::size_t>(chunk) + 1].segment; ++s) {
      const RowSegment& segment = whole_.segments[static_cast<std::size_t>(s)];
      visit(segment, id, tile * whole_.tile_cols);
      id += segment.length;
    }
  }

  const SourceTiles& whole_;
  EntryEnd end_;
  std::span<const std::uint8_t> marked_;
};

}  // namespace

std::int64_t most_source_tile_bytes(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros,
                                    std::int64_t tile_cols) {
  const std::int64_t tiles = std::max<std::int64_t>(1, num_chunks(cols, tile_cols));
  const std::int64_t segments = std::min(rows * tiles, rows + nonzeros);
  const std::int64_t chunks = (nonzeros + kSegmentCost * segments) / kChunkCost + tiles + 1;
  return nonzeros * std::int64_t{sizeof(std::uint16_t)} + segments * std::int64_t{sizeof(RowSegment)} +
         chunks * std::int64_t{sizeof(SegmentChunk)} + (tiles + 1) * std::int64_t{sizeof(std::int64_t)};
}

SourceTiles tile_sources(const SparsePattern& pattern, std::int64_t tile_cols, int threads) {
  GNEISS_ASSERT(tile_cols >= 1 && tile_cols <= kMostTileCols, "a tile of {} columns", tile_cols);
  const std::int64_t tiles = std::max<std::int64_t>(1, num_chunks(pattern.cols, tile_cols));
  const std::int64_t grain = std::max<std::int64_t>(1, num_chunks(pattern.rows, kTasks));
  std::vector<Count> starts = count_segments(pattern, tile_cols, tiles, grain, threads);
  const Count total = place(&starts, tiles);
  // The first task writes a tile's first segment.
  std::vector<std::int64_t> tile_segments(static_cast<std::size_t>(tiles) + 1, total.segments);
  for (std::size_t b = 0; b < tile_segments.size() - 1 && !starts.empty(); ++b) tile_segments[b] = starts[b].segments;

  SourceTiles out;
  out.tile_cols = tile_cols;
  out.ids = Buffer<std::uint16_t>(static_cast<std::size_t>(total.ids));
  out.segments = Buffer<RowSegment>(static_cast<std::size_t>(total.segments));
  write_segments(pattern, tiles, grain, std::move(starts), threads, &out);

  std::vector<SegmentChunk> chunks;
  std::vector<std::int64_t> tile_chunks;
  std::int64_t id = 0;
  for (std::size_t b = 0; b < static_cast<std::size_t>(tiles); ++b) {
    tile_chunks.push_back(static_cast<std::int64_t>(chunks.size()));
    id = cut(out.segments, tile_segments[b], tile_segments[b + 1], id, &chunks);
  }
  tile_chunks.push_back(static_cast<std::int64_t>(chunks.size()));
  chunks.push_back({total.segments, total.ids});
  out.chunks = Buffer<SegmentChunk>::copy_of(chunks);
  out.tile_chunks = Buffer<std::int64_t>::copy_of(tile_chunks);
  return out;
}

std::vector<std::uint8_t> marks(std::int64_t size, std::span<const NodeId> rows) {
  std::vector<std::uint8_t> marked(static_cast<std::size_t>(size), 0);
  for (const NodeId v : rows) marked[static_cast<std::size_t>(v)] = 1;
  return marked;
}

SourceTiles room_for_part(const SourceTiles& whole) {
  SourceTiles part;
  part.tile_cols = whole.tile_cols;
  part.ids = Buffer<std::uint16_t>(whole.ids.size());
  part.segments = Buffer<RowSegment>(whole.segments.size());
  part.chunks = Buffer<SegmentChunk>(whole.chunks.size());
  part.tile_chunks = Buffer<std::int64_t>::copy_of(whole.tile_chunks);
  return part;
}

void fill_part(const SourceTiles& whole, EntryEnd end, std::span<const std::uint8_t> marked, int threads,
               SourceTiles* part) {
  const PartOfChunks chunks(whole, end, marked);
  const std::span<const std::int64_t> tile_chunks = whole.tile_chunks;
  const auto tile_of = [&](std::int64_t chunk) {
    return std::upper_bound(tile_chunks.begin(), tile_chunks.end() - 1, chunk) - tile_chunks.begin() - 1;
  };
  std::vector<Count> counts(whole.chunks.size() - 1);
  parallel_tasks(threads, std::ssize(counts), [&](std::int64_t chunk, int) {
    counts[static_cast<std::size_t>(chunk)] = chunks.count(tile_of(chunk), chunk);
  });
  const Count total = place(&counts, 1);
  for (std::size_t c = 0; c < counts.size(); ++c) part->chunks[c] = {counts[c].segments, counts[c].ids};
  part->chunks[counts.size()] = {total.segments, total.ids};
  parallel_tasks(threads, std::ssize(counts), [&](std::int64_t chunk, int) {
    chunks.copy(tile_of(chunk), chunk, counts[static_cast<std::size_t>(chunk)], part);
  });
}

}  // namespace gneiss::graph
