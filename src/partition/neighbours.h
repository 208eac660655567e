// The undirected structure of a graph, for partitioners.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace gneiss::partition {

/// Who is next to whom in either direction: no self loops, no parallel edges, rows ascending. METIS must have it so:
/// parallel and one-sided edges corrupt its heaps.
struct Neighbours {
  std::vector<EdgeId> offsets;  ///< [nodes + 1]
  std::vector<NodeId> nodes;

  std::int64_t num_nodes() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::span<const NodeId> of(std::int64_t node) const {
    const auto v = static_cast<std::size_t>(node);
    return std::span(nodes).subspan(static_cast<std::size_t>(offsets[v]),
                                    static_cast<std::size_t>(offsets[v + 1] - offsets[v]));
  }
};

/// Cost: O(nodes + edges), and a transpose of a graph that is not symmetric.
Neighbours neighbours_of(const graph::Graph& graph, int threads);

}  // namespace gneiss::partition
