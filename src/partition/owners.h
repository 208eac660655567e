// Which part has each node, and the order in which every part is a run of nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace gneiss::partition {

/// [nodes] the part of each node.
using Owners = std::vector<std::int32_t>;

/// Of parts that are runs of nodes. `starts`: [parts + 1].
Owners owners_of(std::span<const std::int64_t> starts);

/// Part by part.
struct PartOrder {
  std::vector<NodeId> order;         ///< [nodes] old id by new id
  std::vector<std::int64_t> starts;  ///< [parts + 1] first new ids
};

/// Within a part its interior nodes come first: those none of whose in-edges come from another part, which have all
/// they need while rows of other parts are on their way. Else nodes keep their order. Cost: O(nodes + edges + parts).
PartOrder order_by_part(const graph::Graph& graph, const Owners& owners, int parts);

}  // namespace gneiss::partition
