// The undirected structure of a graph, for partitioners.
#pragma once

#include <cstdint>
#include <functional>
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

/// Rows of neighbours, asked for in the order of their nodes, several times over; a row lasts until the next is asked
/// for.
struct NeighbourRows {
  std::int64_t entries = 0;  ///< of all rows
  std::function<std::span<const NodeId>(std::int64_t node)> of;
};

/// `all` must outlive them.
NeighbourRows rows_of(const Neighbours& all);

/// Those of a graph whose edges may lie in a file larger than the memory: in-neighbours alone, which are all of a graph
/// that is symmetric. `graph` must outlive them. Cost: O(edges), and memory for the largest row.
NeighbourRows in_neighbours(const graph::Graph& graph);

}  // namespace gneiss::partition
