// Self loops as PyG's layers want them: exactly one per node.
// Source: pyg torch_geometric/utils/loop.py (add_remaining_self_loops, remove_self_loops, add_self_loops).
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "graph/graph.h"

namespace gneiss::graph {
namespace {

constexpr std::int64_t kGrain = 4096;

/// The loops of node v, among the sources of its row.
auto loops_of(const Graph& graph, std::int64_t v) {
  const auto row = static_cast<std::size_t>(v);
  const auto sources = graph.sources().begin();
  return std::equal_range(sources + graph.offsets()[row], sources + graph.offsets()[row + 1], static_cast<NodeId>(v));
}

/// One loop per node in its sorted place. `keep_weight`: the last existing loop's weight survives.
Graph with_one_loop(const Graph& graph, int threads, float fill, bool keep_weight) {
  GNEISS_ASSERT(graph.num_src() >= graph.num_dst(), "self loops need destinations that are sources");
  const auto n = static_cast<std::size_t>(graph.num_dst());
  const auto offsets_in = graph.offsets();
  const auto sources_in = graph.sources();
  auto offsets = Buffer<EdgeId>::zeros(n + 1);
  for (std::size_t v = 0; v < n; ++v) {
    const auto [first, last] = loops_of(graph, static_cast<std::int64_t>(v));
    offsets[v + 1] = offsets[v] + (offsets_in[v + 1] - offsets_in[v]) - (last - first) + 1;
  }
  Buffer<NodeId> sources(static_cast<std::size_t>(offsets[n]));
  Buffer<float> weights(graph.weighted() ? sources.size() : 0);
  const auto write_row = [&](std::size_t v) {
    auto at = static_cast<std::size_t>(offsets[v]);
    std::size_t loop_at = 0;
    bool placed = false;
    float loop_weight = fill;
    const auto place_loop = [&] {
      loop_at = at;
      sources[at++] = static_cast<NodeId>(v);
      placed = true;
    };
    for (EdgeId k = offsets_in[v]; k < offsets_in[v + 1]; ++k) {
      const NodeId u = sources_in[static_cast<std::size_t>(k)];
      if (u >= static_cast<NodeId>(v) && !placed) place_loop();
      if (u == static_cast<NodeId>(v)) {
        if (keep_weight && graph.weighted()) loop_weight = graph.weights()[static_cast<std::size_t>(k)];
        continue;
      }
      if (!weights.empty()) weights[at] = graph.weights()[static_cast<std::size_t>(k)];
      sources[at++] = u;
    }
    if (!placed) place_loop();
    if (!weights.empty()) weights[loop_at] = loop_weight;
  };
  parallel_chunks(threads, graph.num_dst(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) write_row(static_cast<std::size_t>(v));
  });
  // A loop is its own reverse: the other edges decide.
  return {graph.num_src(), std::move(offsets), std::move(sources), std::move(weights), graph.symmetric(), threads};
}

}  // namespace

std::int64_t num_self_loops(const Graph& graph, int threads) {
  std::atomic<std::int64_t> loops = 0;
  parallel_chunks(threads, graph.num_dst(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t found = 0;
    for (std::int64_t v = begin; v < end; ++v) {
      const auto [first, last] = loops_of(graph, v);
      found += last - first;
    }
    loops.fetch_add(found, std::memory_order_relaxed);
  });
  return loops;
}

Graph add_remaining_self_loops(const Graph& graph, int threads, float fill) {
  return with_one_loop(graph, threads, fill, true);
}

Graph replace_self_loops(const Graph& graph, int threads, float fill) {
  return with_one_loop(graph, threads, fill, false);
}

}  // namespace gneiss::graph
