// What parts of a graph read of each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "partition/owners.h"

namespace gneiss::partition {

/// What one part reads in one sum over the in-edges of its nodes.
struct PartTraffic {
  std::int64_t nodes = 0;
  std::int64_t local_edges = 0;         ///< from its own nodes
  std::int64_t remote_edges = 0;        ///< from others' nodes
  std::vector<std::int64_t> halo_rows;  ///< [parts] distinct nodes of part p that it reads
  std::vector<std::int64_t> edge_rows;  ///< [parts] edges from part p: rows, if one is fetched for every edge

  std::int64_t edges() const { return local_edges + remote_edges; }
  std::int64_t ghosts() const;
};

/// Of every part. Cost: O(edges + nodes parts / 64), 8 bytes a node.
///   both_ways  halo_rows are the nodes at either end of its nodes' edges: local_graph's ghosts
std::vector<PartTraffic> part_traffic(const graph::Graph& whole, const Owners& owners, int parts,
                                      bool both_ways = false);

}  // namespace gneiss::partition
