// Transpose by counting sort of the entries by column, and the symmetry test that is a transpose without storing it.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "graph/graph.h"
#include "graph/key_sort.h"
#include "graph/symmetry.h"

namespace gneiss::graph {

namespace {

/// Fills the offsets and indices of `out`, and `carried` with carry(k) of each entry k in its place; neither if there
/// is nothing to carry.
template <class Carried, class Carry>
void sort_entries(const SparsePattern& pattern, int threads, Transpose* out, Buffer<Carried>* carried,
                  const Carry& carry) {
  out->cols = pattern.rows;
  out->offsets = Buffer<EdgeId>::zeros(static_cast<std::size_t>(pattern.cols) + 1);
  out->indices = Buffer<NodeId>(static_cast<std::size_t>(pattern.nonzeros()));
  const auto walk = [&](std::int64_t begin, std::int64_t end, const auto& fn) {
    for (std::int64_t r = begin; r < end; ++r) {
      const EdgeId last = pattern.offsets[static_cast<std::size_t>(r) + 1];
      for (EdgeId k = pattern.offsets[static_cast<std::size_t>(r)]; k < last; ++k)
        fn(pattern.indices[static_cast<std::size_t>(k)], static_cast<NodeId>(r), k);
    }
  };
  sort_by_key(pattern.cols, pattern.rows, threads, walk, &out->offsets, &out->indices, carried, carry);
}

}  // namespace

std::int64_t transpose_scratch_bytes(std::int64_t nnz, std::size_t entry_bytes) {
  return nnz * static_cast<std::int64_t>(sizeof(std::uint16_t) + sizeof(NodeId) + entry_bytes);
}

Transpose transpose(const SparsePattern& pattern, bool with_slots, int threads) {
  Transpose out;
  out.slots = Buffer<EdgeId>(with_slots ? static_cast<std::size_t>(pattern.nonzeros()) : 0);
  sort_entries(pattern, threads, &out, &out.slots, [&](EdgeId k) { return pattern.slot(k); });
  return out;
}

Transpose transpose(const SparsePattern& pattern, std::span<const float> values, int threads) {
  Transpose out;
  out.values = Buffer<float>(values.size());
  sort_entries(pattern, threads, &out, &out.values,
               [&](EdgeId k) { return values[static_cast<std::size_t>(pattern.slot(k))]; });
  return out;
}

bool is_symmetric(const SparsePattern& pattern, std::span<const float> values, int threads) {
  if (pattern.rows != pattern.cols) return false;
  if (pattern.rows == 0) return true;
  // Walking the rows in order visits the entries of each transposed row in order: entry (r, c) must be the next
  // unvisited entry of row c, and that entry must name r. Columns are walked in tiles, so that the places that the
  // walk jumps between stay in a cache; a tile pays only where a row has some entries in it.
  constexpr std::int64_t kTileColumns = 8192;
  constexpr std::int64_t kEntriesInTile = 8;
  const std::int64_t degree = pattern.nonzeros() / pattern.rows;
  const std::int64_t tiles =
      std::clamp<std::int64_t>(degree / kEntriesInTile, 1, num_chunks(pattern.cols, kTileColumns));
  const std::int64_t columns = num_chunks(pattern.cols, tiles);
  std::atomic<bool> symmetric = true;
  parallel_chunks(threads, pattern.cols, columns, [&](std::int64_t first, std::int64_t last) {
    std::vector<EdgeId> cursor(pattern.offsets.begin() + first, pattern.offsets.begin() + last);
    for (std::int64_t r = 0; r < pattern.rows && symmetric.load(std::memory_order_relaxed); ++r) {
      const auto row_begin = pattern.indices.begin() + pattern.offsets[static_cast<std::size_t>(r)];
      const auto row_end = pattern.indices.begin() + pattern.offsets[static_cast<std::size_t>(r) + 1];
      for (auto entry = std::lower_bound(row_begin, row_end, first); entry != row_end && *entry < last; ++entry) {
        const auto c = static_cast<std::size_t>(*entry);
        const auto k = static_cast<std::size_t>(entry - pattern.indices.begin());
        const auto other = static_cast<std::size_t>(cursor[c - static_cast<std::size_t>(first)]++);
        const bool there = static_cast<EdgeId>(other) < pattern.offsets[c + 1] && pattern.indices[other] == r;
        if (there && (values.empty() || values[k] == values[other])) continue;
        symmetric.store(false, std::memory_order_relaxed);
        return;
      }
    }
  });
  return symmetric.load();
}

}  // namespace gneiss::graph
