// Loops of the cpu kernels: over runs of elements, and over rows in chunks of about equal numbers of edges.
//
// Chunks are found from the shapes and the offsets alone (never from the number of threads) and nothing is allocated:
// a chunk's first row is a binary search on offsets. Those may be a part of a larger graph's and start anywhere. Rows
// cost their edges plus 2, the overhead of an empty row measured against an edge of 32 columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/matrix_view.h"
#include "base/parallel.h"

namespace gneiss::kernels::cpu {

/// Elements of one task of an elementwise sweep: 128 KiB of f32, some 10 µs.
inline constexpr std::int64_t kElementGrain = 32768;
inline constexpr std::int64_t kRowCost = 2;

/// First row whose cost before it, from the first row on, is at least `cost`.
inline std::int64_t row_at_cost(std::span<const EdgeId> offsets, std::int64_t cost) {
  cost += offsets[0];
  std::int64_t low = 0;
  std::int64_t high = static_cast<std::int64_t>(offsets.size()) - 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (offsets[static_cast<std::size_t>(middle)] + kRowCost * middle < cost) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Calls body(begin, end) for ranges of rows that together cover all rows of `offsets`, with about equal numbers of
/// edges where each edge costs `edge_elements` elements.
template <class Body>
void parallel_edge_rows(int threads, std::span<const EdgeId> offsets, std::int64_t edge_elements, const Body& body) {
  const std::int64_t rows = static_cast<std::int64_t>(offsets.size()) - 1;
  if (rows <= 0) return;
  const std::int64_t cost = offsets[static_cast<std::size_t>(rows)] - offsets[0] + kRowCost * rows;
  constexpr std::int64_t kElements = std::int64_t{1} << 19;
  const std::int64_t grain = std::clamp<std::int64_t>(kElements / std::max<std::int64_t>(1, edge_elements), 512, 32768);
  parallel_chunks(threads, cost, grain, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t begin = row_at_cost(offsets, first);
    const std::int64_t end = last == cost ? rows : row_at_cost(offsets, last);
    if (begin < end) body(begin, end);
  });
}

/// Calls body(begin, end) for ranges of about kElementGrain elements of a matrix with `cols` columns.
template <class Body>
void parallel_rows(int threads, std::int64_t rows, std::int64_t cols, const Body& body) {
  parallel_chunks(threads, rows, std::max<std::int64_t>(1, kElementGrain / std::max<std::int64_t>(1, cols)), body);
}

/// Calls body(chunk) for every chunk of one tile of a pattern cut by sources.
template <class Body>
void for_each_chunk_of(int threads, const TiledPattern& tiles, std::int64_t tile, const Body& body) {
  const std::int64_t first = tiles.tile_chunks[static_cast<std::size_t>(tile)];
  const std::int64_t end = tiles.tile_chunks[static_cast<std::size_t>(tile) + 1];
  parallel_chunks(threads, end - first, 1, [&](std::int64_t chunk, std::int64_t) { body(first + chunk); });
}

/// Calls body(tile, chunk) for every chunk of every tile, tile after tile.
template <class Body>
void for_each_tile_chunk(int threads, const TiledPattern& tiles, const Body& body) {
  for (std::int64_t tile = 0; tile < tiles.num_tiles(); ++tile) {
    for_each_chunk_of(threads, tiles, tile, [&](std::int64_t chunk) { body(tile, chunk); });
  }
}

/// Calls body(length, pointers…) for runs of consecutive elements of matrices of one shape: long runs where all of them
/// are contiguous, else a run a row.
template <class Body, class First, class... Rest>
void parallel_runs(int threads, const Body& body, const First& first, const Rest&... rest) {
  if (first.contiguous() && (rest.contiguous() && ...)) {
    parallel_chunks(threads, first.size(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      body(end - begin, first.data + begin, rest.data + begin...);
    });
    return;
  }
  parallel_rows(threads, first.rows, first.cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) body(first.cols, first.row(r), rest.row(r)...);
  });
}

}  // namespace gneiss::kernels::cpu
