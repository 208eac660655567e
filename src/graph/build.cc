// From an edge list to the canonical graph: two counting sorts (by source, then stably by destination), so that within
// a destination the sources ascend and parallel edges keep their order in the file. O(n + m) time, one copy of the
// edges.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace gneiss::graph {
namespace {

using Order = std::vector<EdgeId>;

void check_ids(const EdgeList& edges, std::int64_t num_nodes) {
  GNEISS_CHECK(edges.src.size() == edges.dst.size(), ErrorCode::kShape, "edge list: {} sources but {} destinations",
               edges.src.size(), edges.dst.size());
  GNEISS_CHECK(edges.weight.empty() || edges.weight.size() == edges.src.size(), ErrorCode::kShape,
               "edge list: {} weights for {} edges", edges.weight.size(), edges.src.size());
  for (std::size_t e = 0; e < edges.src.size(); ++e) {
    for (const NodeId id : {edges.src[e], edges.dst[e]}) {
      GNEISS_CHECK(id >= 0 && id < num_nodes, ErrorCode::kBadData, "edge {} ({} -> {}) names node {}, outside 0..{}", e,
                   edges.src[e], edges.dst[e], id, num_nodes - 1);
    }
  }
}

/// Edges without self loops and, if asked for, with their reverses appended.
EdgeList expand(const EdgeList& edges, const BuildOptions& options) {
  const auto kept = [&](std::size_t e) { return !options.remove_self_loops || edges.src[e] != edges.dst[e]; };
  std::size_t count = 0;
  for (std::size_t e = 0; e < edges.src.size(); ++e) count += kept(e) ? 1 : 0;
  const std::size_t total = options.to_undirected ? 2 * count : count;
  EdgeList out{Buffer<NodeId>(total), Buffer<NodeId>(total), Buffer<float>(edges.weight.empty() ? 0 : total)};
  std::size_t at = 0;
  for (int direction = 0; direction < (options.to_undirected ? 2 : 1); ++direction) {
    const Buffer<NodeId>& from = direction == 0 ? edges.src : edges.dst;
    const Buffer<NodeId>& to = direction == 0 ? edges.dst : edges.src;
    for (std::size_t e = 0; e < edges.src.size(); ++e) {
      if (!kept(e)) continue;
      out.src[at] = from[e];
      out.dst[at] = to[e];
      if (!edges.weight.empty()) out.weight[at] = edges.weight[e];
      ++at;
    }
  }
  return out;
}

/// Stable counting sort of `order` (empty = 0, 1, 2, …) by key.
Order sort_by(std::span<const NodeId> key, const Order& order, std::int64_t num_nodes) {
  Order offset(static_cast<std::size_t>(num_nodes) + 1, 0);
  for (const NodeId k : key) ++offset[static_cast<std::size_t>(k) + 1];
  for (std::size_t v = 0; v < static_cast<std::size_t>(num_nodes); ++v) offset[v + 1] += offset[v];
  Order sorted(key.size());
  for (std::size_t i = 0; i < key.size(); ++i) {
    const EdgeId e = order.empty() ? static_cast<EdgeId>(i) : order[i];
    sorted[static_cast<std::size_t>(offset[static_cast<std::size_t>(key[static_cast<std::size_t>(e)])]++)] = e;
  }
  return sorted;
}

/// Writes the sorted edges as a graph, merging parallel ones (weights summed) if `coalesce`.
Graph compress(const EdgeList& edges, const Order& order, std::int64_t num_nodes, bool coalesce, int threads) {
  const auto parallel = [&](std::size_t i) {
    if (!coalesce || i == 0) return false;
    const auto a = static_cast<std::size_t>(order[i - 1]);
    const auto b = static_cast<std::size_t>(order[i]);
    return edges.src[a] == edges.src[b] && edges.dst[a] == edges.dst[b];
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) count += parallel(i) ? 0 : 1;
  auto offsets = Buffer<EdgeId>::zeros(static_cast<std::size_t>(num_nodes) + 1);
  Buffer<NodeId> sources(count);
  Buffer<float> weights(edges.weight.empty() ? 0 : count);
  std::size_t at = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto e = static_cast<std::size_t>(order[i]);
    if (parallel(i)) {
      if (!weights.empty()) weights[at - 1] += edges.weight[e];
      continue;
    }
    ++offsets[static_cast<std::size_t>(edges.dst[e]) + 1];
    sources[at] = edges.src[e];
    if (!weights.empty()) weights[at] = edges.weight[e];
    ++at;
  }
  for (std::size_t v = 0; v < static_cast<std::size_t>(num_nodes); ++v) offsets[v + 1] += offsets[v];
  return {num_nodes, std::move(offsets), std::move(sources), std::move(weights), {}, threads};
}

}  // namespace

Graph build_graph(const EdgeList& edges, std::int64_t num_nodes, const BuildOptions& options) {
  check_ids(edges, num_nodes);
  const bool rewrite = options.remove_self_loops || options.to_undirected;
  const EdgeList expanded = rewrite ? expand(edges, options) : EdgeList{};
  const EdgeList& chosen = rewrite ? expanded : edges;
  const Order order = sort_by(chosen.dst, sort_by(chosen.src, {}, num_nodes), num_nodes);
  Graph graph = compress(chosen, order, num_nodes, options.coalesce || options.to_undirected, options.threads);
  return options.add_self_loops ? add_remaining_self_loops(graph, options.threads) : std::move(graph);
}

}  // namespace gneiss::graph
