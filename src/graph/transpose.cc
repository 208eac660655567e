// Transpose by counting sort, and the symmetry test that is a transpose without storing it.
#include <cstddef>
#include <vector>

#include "graph/graph.h"
#include "graph/symmetry.h"

namespace gneiss::graph {

Transpose transpose(const SparsePattern& pattern) {
  const auto nnz = static_cast<std::size_t>(pattern.nonzeros());
  Transpose out;
  out.cols = pattern.rows;
  out.offsets = Buffer<EdgeId>::zeros(static_cast<std::size_t>(pattern.cols) + 1);
  out.indices = Buffer<NodeId>(nnz);
  out.slots = Buffer<EdgeId>(nnz);
  for (const NodeId c : pattern.indices) ++out.offsets[static_cast<std::size_t>(c) + 1];
  for (std::size_t c = 0; c < static_cast<std::size_t>(pattern.cols); ++c) out.offsets[c + 1] += out.offsets[c];
  std::vector<EdgeId> cursor(out.offsets.begin(), out.offsets.end() - 1);
  for (std::int64_t r = 0; r < pattern.rows; ++r) {
    for (EdgeId k = pattern.offsets[static_cast<std::size_t>(r)]; k < pattern.offsets[static_cast<std::size_t>(r) + 1]; ++k) {
      const auto at = static_cast<std::size_t>(cursor[static_cast<std::size_t>(pattern.indices[static_cast<std::size_t>(k)])]++);
      out.indices[at] = static_cast<NodeId>(r);
      out.slots[at] = pattern.slot(k);
    }
  }
  return out;
}

bool is_symmetric(const SparsePattern& pattern, std::span<const float> values) {
  if (pattern.rows != pattern.cols) return false;
  // Walking the rows in order visits the entries of each transposed row in order: entry (r, c) must be the next
  // unvisited entry of row c, and that entry must name r.
  std::vector<EdgeId> cursor(pattern.offsets.begin(), pattern.offsets.end() - 1);
  for (std::int64_t r = 0; r < pattern.rows; ++r) {
    for (EdgeId k = pattern.offsets[static_cast<std::size_t>(r)]; k < pattern.offsets[static_cast<std::size_t>(r) + 1]; ++k) {
      const auto c = static_cast<std::size_t>(pattern.indices[static_cast<std::size_t>(k)]);
      const EdgeId other = cursor[c]++;
      if (other >= pattern.offsets[c + 1] || pattern.indices[static_cast<std::size_t>(other)] != r) return false;
      if (!values.empty() && values[static_cast<std::size_t>(k)] != values[static_cast<std::size_t>(other)]) return false;
    }
  }
  return true;
}

}  // namespace gneiss::graph
