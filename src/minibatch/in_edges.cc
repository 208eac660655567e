// Rows are sorted apart from each other, stably, so that parallel edges keep their order.
#include "minibatch/in_edges.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss::minibatch {
namespace {

constexpr std::int64_t kRowsPerTask = 1024;

}  // namespace

InEdges<NodeId> in_edges(const graph::Graph& graph) {
  return {graph.offsets(), graph.sources(), graph.weights(), {}, {}};
}

OriginalOrder::OriginalOrder(const graph::Graph& graph, std::span<const std::int64_t> orig_id, int threads)
    : graph_(graph),
      orig_id_(orig_id),
      sources_(graph.sources().size()),
      slots_(graph.sources().size()),
      weights_(graph.weights().size()) {
  GNEISS_CHECK(static_cast<std::int64_t>(orig_id.size()) == graph.num_nodes(), ErrorCode::kShape,
               "the graph has {} nodes, but there are {} original ids", graph.num_nodes(), orig_id.size());
  const auto original = [&](EdgeId e) {
    return orig_id[static_cast<std::size_t>(graph.sources()[static_cast<std::size_t>(e)])];
  };
  parallel_chunks(threads, graph.num_dst(), kRowsPerTask, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t v = first; v < last; ++v) {
      const auto begin = static_cast<std::size_t>(graph.offsets()[static_cast<std::size_t>(v)]);
      const auto end = static_cast<std::size_t>(graph.offsets()[static_cast<std::size_t>(v) + 1]);
      for (std::size_t e = begin; e < end; ++e) slots_[e] = static_cast<EdgeId>(e);
      std::sort(slots_.data() + begin, slots_.data() + end,
                [&](EdgeId a, EdgeId b) { return original(a) != original(b) ? original(a) < original(b) : a < b; });
      for (std::size_t e = begin; e < end; ++e) {
        const auto slot = static_cast<std::size_t>(slots_[e]);
        sources_[e] = graph.sources()[slot];
        if (graph.weighted()) weights_[e] = graph.weights()[slot];
      }
    }
  });
}

InEdges<NodeId> OriginalOrder::in_edges() const { return {graph_.offsets(), sources_, weights_, slots_, orig_id_}; }

InEdges<NodeId> in_edges(const graph::Graph& graph, std::span<const std::int64_t> orig_id, int threads,
                         std::optional<OriginalOrder>* sorted) {
  if (!std::is_sorted(orig_id.begin(), orig_id.end())) return sorted->emplace(graph, orig_id, threads).in_edges();
  InEdges<NodeId> edges = in_edges(graph);
  edges.orig_id = orig_id;
  return edges;
}

}  // namespace gneiss::minibatch
