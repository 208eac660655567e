// A pattern by blocks of columns, for products that read a dense matrix by random rows: while a block lasts, the rows
// it reads stay in a cache.
//
// Encoding: a column is a 16-bit number within its block (2 bytes an entry), a row's run of entries in a block one
// segment (16 bytes). Rows must be sorted by column, as a Graph's and a Transpose's are: then the entries of a segment
// follow each other in the pattern too, and values kept in the pattern's order (weights) are found without a
// permutation. Source: the CPU study's "blk" variant; cache blocking of the source nodes as in DistGNN.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/matrix_view.h"

namespace gneiss::graph {

inline constexpr std::int64_t kMostBlockCols = 65536;

struct SourceBlocks {
  std::int64_t block_cols = 0;
  Buffer<std::uint16_t> ids;
  Buffer<RowSegment> segments;
  Buffer<SegmentChunk> chunks;
  Buffer<std::int64_t> block_chunks;

  BlockedPattern view() const { return {block_cols, ids, segments, chunks, block_chunks}; }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(ids.size_bytes() + segments.size_bytes() + chunks.size_bytes() +
                                     block_chunks.size_bytes());
  }
};

/// The most bytes() of the blocks of a pattern with these sizes.
std::int64_t most_source_block_bytes(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros,
                                     std::int64_t block_cols);

/// Cuts a pattern with sorted rows into blocks of `block_cols` columns (1 to 65536). The result does not depend on the
/// number of threads. O(nnz + rows · blocks).
SourceBlocks block_sources(const SparsePattern& pattern, std::int64_t block_cols, int threads);

/// Which end of an entry is looked at.
enum class EntryEnd : std::uint8_t { kRow, kColumn };

/// 1 for each of `rows` among `size`, else 0.
std::vector<std::uint8_t> marks(std::int64_t size, std::span<const NodeId> rows);

/// Room for a part of `whole`: views of it can be taken before it is filled, and untouched memory is none.
SourceBlocks room_for_part(const SourceBlocks& whole);

/// Keeps the entries whose row (or column) is marked, in their order, in the room that was made for them. Rows without
/// any are still there in the first block. The result does not depend on the number of threads. O(nnz).
void fill_part(const SourceBlocks& whole, EntryEnd end, std::span<const std::uint8_t> marked, int threads,
               SourceBlocks* part);

}  // namespace gneiss::graph
