// Bipartite graphs of some destinations, and rows in another order.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
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

void order_rows(std::span<const std::int64_t> keys, int threads, Graph* graph) {
  GNEISS_ASSERT(std::ssize(keys) == graph->num_src(), "{} keys for {} sources", keys.size(), graph->num_src());
  struct Entry {
    std::int64_t key;
    NodeId source;
    float weight;
  };
  constexpr std::int64_t kGrain = 1024;
  const std::span<NodeId> sources = graph->sources_;
  const std::span<float> weights = graph->weights_;
  const auto before = [](const Entry& a, const Entry& b) { return a.key < b.key; };
  parallel_chunks(threads, graph->num_dst(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Entry> row;
    for (std::int64_t v = begin; v < end; ++v) {
      const auto first = static_cast<std::size_t>(graph->offsets_[static_cast<std::size_t>(v)]);
      const auto last = static_cast<std::size_t>(graph->offsets_[static_cast<std::size_t>(v) + 1]);
      row.clear();
      for (std::size_t k = first; k < last; ++k)
        row.push_back({keys[static_cast<std::size_t>(sources[k])], sources[k], weights.empty() ? 1.0F : weights[k]});
      if (std::is_sorted(row.begin(), row.end(), before)) continue;
      std::stable_sort(row.begin(), row.end(), before);
      for (std::size_t k = first; k < last; ++k) {
        sources[k] = row[k - first].source;
        if (!weights.empty()) weights[k] = row[k - first].weight;
      }
    }
  });
}

}  // namespace gneiss::graph
