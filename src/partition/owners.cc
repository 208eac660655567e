// Nodes are counted by part and then placed one after the other, so that they keep their order.
#include "partition/owners.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gneiss::partition {

Owners owners_of(std::span<const std::int64_t> starts) {
  Owners owners(static_cast<std::size_t>(starts.back()));
  for (std::size_t p = 0; p + 1 < starts.size(); ++p)
    std::fill(owners.begin() + starts[p], owners.begin() + starts[p + 1], static_cast<std::int32_t>(p));
  return owners;
}

PartOrder order_by_part(const Owners& owners, int parts) {
  PartOrder made;
  made.starts.assign(static_cast<std::size_t>(parts) + 1, 0);
  for (const std::int32_t owner : owners) {
    GNEISS_ASSERT(owner >= 0 && owner < parts, "part {} of {}", owner, parts);
    ++made.starts[static_cast<std::size_t>(owner) + 1];
  }
  std::partial_sum(made.starts.begin(), made.starts.end(), made.starts.begin());
  made.order.resize(owners.size());
  std::vector<std::int64_t> next(made.starts.begin(), made.starts.end() - 1);
  for (std::size_t v = 0; v < owners.size(); ++v)
    made.order[static_cast<std::size_t>(next[static_cast<std::size_t>(owners[v])]++)] = static_cast<NodeId>(v);
  return made;
}

PartOrder interior_first(const graph::Graph& graph, PartOrder by_part) {
  std::vector<std::int32_t> owners(by_part.order.size());
  for (std::size_t p = 0; p + 1 < by_part.starts.size(); ++p) {
    for (std::int64_t i = by_part.starts[p]; i < by_part.starts[p + 1]; ++i)
      owners[static_cast<std::size_t>(by_part.order[static_cast<std::size_t>(i)])] = static_cast<std::int32_t>(p);
  }
  const auto is_interior = [&](NodeId v) {
    const auto row = static_cast<std::size_t>(v);
    const auto sources =
        graph.sources().subspan(static_cast<std::size_t>(graph.offsets()[row]),
                                static_cast<std::size_t>(graph.offsets()[row + 1] - graph.offsets()[row]));
    return std::all_of(sources.begin(), sources.end(),
                       [&](NodeId u) { return owners[static_cast<std::size_t>(u)] == owners[row]; });
  };
  for (std::size_t p = 0; p + 1 < by_part.starts.size(); ++p)
    std::stable_partition(by_part.order.begin() + by_part.starts[p], by_part.order.begin() + by_part.starts[p + 1],
                          is_interior);
  return by_part;
}

}  // namespace gneiss::partition
