// Nodes are counted by where they belong and then placed one after the other, so that they keep their order.
#include "partition/owners.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/sweep.h"

namespace gneiss::partition {

Owners owners_of(std::span<const std::int64_t> starts) {
  Owners owners(static_cast<std::size_t>(starts.back()));
  for (std::size_t p = 0; p + 1 < starts.size(); ++p)
    std::fill(owners.begin() + starts[p], owners.begin() + starts[p + 1], static_cast<std::int32_t>(p));
  return owners;
}

PartOrder order_by_part(const graph::Graph& graph, const Owners& owners, int parts) {
  Sweep<NodeId> sources(graph.sources());
  const auto is_interior = [&](std::size_t v) {
    const std::span<const NodeId> row = sources.at(graph.offsets()[v], graph.offsets()[v + 1]);
    return std::all_of(row.begin(), row.end(),
                       [&](NodeId source) { return owners[static_cast<std::size_t>(source)] == owners[v]; });
  };
  // A part is two runs: number 2 p is that of its interior nodes, 2 p + 1 of the others.
  std::vector<std::size_t> run_of(owners.size());
  std::vector<std::int64_t> next(2 * static_cast<std::size_t>(parts) + 1, 0);
  for (std::size_t v = 0; v < owners.size(); ++v) {
    GNEISS_ASSERT(owners[v] >= 0 && owners[v] < parts, "part {} of {}", owners[v], parts);
    run_of[v] = 2 * static_cast<std::size_t>(owners[v]) + (is_interior(v) ? 0 : 1);
    ++next[run_of[v] + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  PartOrder made;
  for (std::size_t run = 0; run < next.size(); run += 2) made.starts.push_back(next[run]);
  made.order.resize(owners.size());
  for (std::size_t v = 0; v < owners.size(); ++v)
    made.order[static_cast<std::size_t>(next[run_of[v]]++)] = static_cast<NodeId>(v);
  return made;
}

}  // namespace gneiss::partition
