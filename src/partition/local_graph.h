// A rank's part of a graph: the in-edges of its nodes, whose sources are its own nodes and copies of others'.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace gneiss::partition {

struct LocalGraph {
  graph::Graph graph;          ///< rows: own nodes; columns: own nodes, then ghosts
  graph::Graph reversed;       ///< the out-edges turned round: a row has the ends of its node's out-edges
  std::vector<NodeId> ghosts;  ///< nodes of the whole graph that columns behind the own ones stand for, ascending
};

/// The in-edges of the nodes [begin, end) of `whole`; weights go along. Own nodes keep their order.
///   both_ways  makes `reversed` too, over the same columns: ghosts are then at either end of own nodes' edges
/// Cost: O(edges of the part + its ghosts' logarithm), and both ways O(edges of the whole).
LocalGraph local_graph(const graph::Graph& whole, std::int64_t begin, std::int64_t end, bool both_ways = false);

}  // namespace gneiss::partition
