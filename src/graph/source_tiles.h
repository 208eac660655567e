// A pattern by tiles of columns, for products that read a dense matrix by random rows: while a tile lasts, the rows
// it reads stay in a cache.
//
// Encoding: a column is a 16-bit number within its tile (2 bytes an entry), a row's run of entries in a tile one
// segment (16 bytes). Rows must be sorted by column, as a Graph's and a Transpose's are: then the entries of a segment
// follow each other in the pattern too, and values kept in the pattern's order (weights) are found without a
// permutation. Source: the CPU study's "blk" variant; cache tiling of the source nodes as in DistGNN.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/matrix_view.h"

namespace gneiss::graph {

inline constexpr std::int64_t kMostTileCols = 65536;

struct SourceTiles {
  std::int64_t tile_cols = 0;
  Buffer<std::uint16_t> ids;
  Buffer<RowSegment> segments;
  Buffer<SegmentChunk> chunks;
  Buffer<std::int64_t> tile_chunks;

  TiledPattern view() const { return {tile_cols, ids, segments, chunks, tile_chunks}; }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(ids.size_bytes() + segments.size_bytes() + chunks.size_bytes() +
                                     tile_chunks.size_bytes());
  }
};

/// The most bytes() of the tiles of a pattern with these sizes.
std::int64_t most_source_tile_bytes(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros,
                                    std::int64_t tile_cols);

/// Cuts a pattern with sorted rows into tiles of `tile_cols` columns (1 to 65536). The result does not depend on the
/// number of threads. O(nnz + rows · tiles).
SourceTiles tile_sources(const SparsePattern& pattern, std::int64_t tile_cols, int threads);

/// Which end of an entry is looked at.
enum class EntryEnd : std::uint8_t { kRow, kColumn };

/// 1 for each of `rows` among `size`, else 0.
std::vector<std::uint8_t> marks(std::int64_t size, std::span<const NodeId> rows);

/// Room for a part of `whole`: views of it can be taken before it is filled, and untouched memory is none.
SourceTiles room_for_part(const SourceTiles& whole);

/// Keeps the entries whose row (or column) is marked, in their order, in the room that was made for them. Rows without
/// any are still there in the first tile. The result does not depend on the number of threads. O(nnz).
void fill_part(const SourceTiles& whole, EntryEnd end, std::span<const std::uint8_t> marked, int threads,
               SourceTiles* part);

}  // namespace gneiss::graph
