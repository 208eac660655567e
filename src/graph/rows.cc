// Bipartite graphs of some destinations.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/parallel.h"
#include "graph/graph.h"

namespace gneiss::graph {

Graph edges_into(const Graph& graph, std::span<const NodeId> rows, int threads) {
  const auto from = graph.offsets();
  auto offsets = Buffer<EdgeId>::zeros(rows.size() + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto v = static_cast<std::size_t>(rows[i]);
    offsets[i + 1] = offsets[i] + from[v + 1] - from[v];
  }
  Buffer<NodeId> sources(static_cast<std::size_t>(offsets[rows.size()]));
  Buffer<float> weights(graph.weighted() ? sources.size() : 0);
  constexpr std::int64_t kGrain = 4096;
  parallel_chunks(threads, static_cast<std::int64_t>(rows.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto first = static_cast<std::size_t>(from[static_cast<std::size_t>(rows[i])]);
      const auto count = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
      const auto to = static_cast<std::ptrdiff_t>(offsets[i]);
      const auto sources_of = graph.sources().subspan(first, count);
      std::copy(sources_of.begin(), sources_of.end(), sources.begin() + to);
      if (weights.empty()) continue;
      const auto weights_of = graph.weights().subspan(first, count);
      std::copy(weights_of.begin(), weights_of.end(), weights.begin() + to);
    }
  });
  return {graph.num_src(), std::move(offsets), std::move(sources), std::move(weights), false, threads};
}

Graph selection(std::int64_t num_nodes, std::span<const NodeId> rows) {
  Buffer<EdgeId> offsets(rows.size() + 1);
  for (std::size_t i = 0; i <= rows.size(); ++i) offsets[i] = static_cast<EdgeId>(i);
  return {num_nodes, std::move(offsets), Buffer<NodeId>::copy_of(rows), {}, false};
}

}  // namespace gneiss::graph
