// What parts of a graph read of each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace gneiss::partition {

/// What one part reads in one sum over the in-edges of its nodes.
struct PartTraffic {
  std::int64_t nodes = 0;
  std::int64_t local_edges = 0;         ///< from its own nodes
  std::int64_t remote_edges = 0;        ///< from others' nodes
  std::vector<std::int64_t> halo_rows;  ///< [parts] distinct nodes of part p that it reads
  std::vector<std::int64_t> edge_rows;  ///< [parts] edges from part p: rows, if one is fetched for every edge
};

/// Of each part [starts[p], starts[p + 1]) of the nodes. Cost: O(edges), and a mark for each node.
std::vector<PartTraffic> part_traffic(const graph::Graph& whole, std::span<const std::int64_t> starts);

}  // namespace gneiss::partition
