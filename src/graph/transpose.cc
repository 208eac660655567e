// Transpose by counting sort, and the symmetry test that is a transpose without storing it.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "base/parallel.h"
#include "graph/graph.h"
#include "graph/symmetry.h"

namespace gneiss::graph {

Transpose transpose(const SparsePattern& pattern, bool with_slots) {
  const auto nnz = static_cast<std::size_t>(pattern.nonzeros());
  Transpose out;
  out.cols = pattern.rows;
  out.offsets = Buffer<EdgeId>::zeros(static_cast<std::size_t>(pattern.cols) + 1);
  out.indices = Buffer<NodeId>(nnz);
  out.slots = Buffer<EdgeId>(with_slots ? nnz : 0);
  for (const NodeId c : pattern.indices) ++out.offsets[static_cast<std::size_t>(c) + 1];
  for (std::size_t c = 0; c < static_cast<std::size_t>(pattern.cols); ++c) out.offsets[c + 1] += out.offsets[c];
  std::vector<EdgeId> cursor(out.offsets.begin(), out.offsets.end() - 1);
  for (std::int64_t r = 0; r < pattern.rows; ++r) {
    for (EdgeId k = pattern.offsets[static_cast<std::size_t>(r)]; k < pattern.offsets[static_cast<std::size_t>(r) + 1]; ++k) {
      const auto at = static_cast<std::size_t>(cursor[static_cast<std::size_t>(pattern.indices[static_cast<std::size_t>(k)])]++);
      out.indices[at] = static_cast<NodeId>(r);
      if (with_slots) out.slots[at] = pattern.slot(k);
    }
  }
  return out;
}

bool is_symmetric(const SparsePattern& pattern, std::span<const float> values) {
  if (pattern.rows != pattern.cols) return false;
  if (pattern.rows == 0) return true;
  // Walking the rows in order visits the entries of each transposed row in order: entry (r, c) must be the next
  // unvisited entry of row c, and that entry must name r. Columns are walked in blocks, so that the places that the walk
  // jumps between stay in a cache; a block pays only where a row has some entries in it.
  constexpr std::int64_t kBlockColumns = 8192;
  constexpr std::int64_t kEntriesInBlock = 8;
  const std::int64_t degree = pattern.nonzeros() / pattern.rows;
  const std::int64_t blocks = std::clamp<std::int64_t>(degree / kEntriesInBlock, 1, num_chunks(pattern.cols, kBlockColumns));
  const std::int64_t columns = num_chunks(pattern.cols, blocks);
  std::atomic<bool> symmetric = true;
  parallel_chunks(available_threads(), pattern.cols, columns, [&](std::int64_t first, std::int64_t last) {
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
