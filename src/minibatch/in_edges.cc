// Rows are sorted apart from each other, stably, so that parallel edges keep their order.
#include "minibatch/in_edges.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/file_pages.h"
#include "base/pages.h"
#include "base/parallel.h"

namespace gneiss::minibatch {
namespace {

constexpr std::int64_t kRowsPerTask = 1024;
constexpr std::size_t kMany = std::size_t{4} << 20;  ///< of a file, whose pages are worth giving back

}  // namespace

InEdges<NodeId> in_edges(const graph::Graph& graph) {
  return {graph.offsets(), graph.sources(), graph.weights(), {}, {}};
}

OriginalOrder::OriginalOrder(const graph::Graph& graph, std::span<const std::int64_t> orig_id, int threads,
                             EdgeSlots slots)
    : graph_(graph),
      orig_id_(orig_id),
      sources_(graph.sources().size()),
      slots_(slots == EdgeSlots::kKept || graph.weighted() ? graph.sources().size() : 0),
      weights_(graph.weights().size()) {
  GNEISS_CHECK(static_cast<std::int64_t>(orig_id.size()) == graph.num_nodes(), ErrorCode::kShape,
               "the graph has {} nodes, but there are {} original ids", graph.num_nodes(), orig_id.size());
  const std::span<const NodeId> sources = graph.sources();
  const bool rests = sources.size_bytes() >= kMany && pages_are_the_files(sources.data(), sources.size_bytes());
  parallel_chunks(threads, graph.num_dst(), kRowsPerTask, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t v = first; v < last; ++v) slots_.empty() ? sort_sources(v) : sort_with_slots(v);
    if (!rests) return;
    const std::span<const EdgeId> offsets = graph.offsets();
    give_back_tail(const_cast<NodeId*>(sources.data()),
                   static_cast<std::size_t>(offsets[static_cast<std::size_t>(first)]) * sizeof(NodeId),
                   static_cast<std::size_t>(offsets[static_cast<std::size_t>(last)]) * sizeof(NodeId));
  });
  if (rests) give_back_tail(const_cast<NodeId*>(sources.data()), 0, sources.size_bytes());
}

void OriginalOrder::sort_with_slots(std::int64_t row) {
  const auto begin = static_cast<std::size_t>(graph_.offsets()[static_cast<std::size_t>(row)]);
  const auto end = static_cast<std::size_t>(graph_.offsets()[static_cast<std::size_t>(row) + 1]);
  const auto source = [&](EdgeId e) { return graph_.sources()[static_cast<std::size_t>(e)]; };
  for (std::size_t e = begin; e < end; ++e) slots_[e] = static_cast<EdgeId>(e);
  std::sort(slots_.data() + begin, slots_.data() + end, [&](EdgeId a, EdgeId b) {
    const std::int64_t of_a = original(source(a));
    const std::int64_t of_b = original(source(b));
    return of_a != of_b ? of_a < of_b : a < b;
  });
  for (std::size_t e = begin; e < end; ++e) {
    sources_[e] = source(slots_[e]);
    if (graph_.weighted()) weights_[e] = graph_.weights()[static_cast<std::size_t>(slots_[e])];
  }
}

/// Parallel edges are alike.
void OriginalOrder::sort_sources(std::int64_t row) {
  const EdgeId begin = graph_.offsets()[static_cast<std::size_t>(row)];
  const EdgeId end = graph_.offsets()[static_cast<std::size_t>(row) + 1];
  std::copy(graph_.sources().begin() + begin, graph_.sources().begin() + end, sources_.begin() + begin);
  std::sort(sources_.begin() + begin, sources_.begin() + end,
            [&](NodeId a, NodeId b) { return original(a) < original(b); });
}

InEdges<NodeId> OriginalOrder::in_edges() const { return {graph_.offsets(), sources_, weights_, slots_, orig_id_}; }

InEdges<NodeId> in_edges(const graph::Graph& graph, std::span<const std::int64_t> orig_id, int threads,
                         std::optional<OriginalOrder>* sorted, EdgeSlots slots) {
  if (!std::is_sorted(orig_id.begin(), orig_id.end()))
    return sorted->emplace(graph, orig_id, threads, slots).in_edges();
  InEdges<NodeId> edges = in_edges(graph);
  edges.orig_id = orig_id;
  return edges;
}

}  // namespace gneiss::minibatch
