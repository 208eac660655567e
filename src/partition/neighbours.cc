// In- and out-neighbours are two ascending lists: their union, each node once and the node itself left out, is the row.
#include "partition/neighbours.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/sweep.h"

namespace gneiss::partition {

Neighbours neighbours_of(const graph::Graph& graph, int threads) {
  const std::int64_t n = graph.num_nodes();
  const SparsePattern in = graph.in_edges();
  graph::Transpose transposed;
  if (!graph.symmetric()) transposed = graph::transpose(in, /*with_slots=*/false, threads);
  Neighbours made;
  made.offsets.reserve(static_cast<std::size_t>(n) + 1);
  made.offsets.push_back(0);
  made.nodes.reserve(static_cast<std::size_t>(graph.num_edges()) * (graph.symmetric() ? 1 : 2));
  const auto row_of = [](const auto& offsets, const auto& nodes, std::int64_t v) {
    const auto i = static_cast<std::size_t>(v);
    return std::span(nodes.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
  };
  for (std::int64_t v = 0; v < n; ++v) {
    const auto into = row_of(graph.offsets(), graph.sources(), v);
    const auto first = static_cast<std::ptrdiff_t>(made.nodes.size());
    if (graph.symmetric()) {
      made.nodes.insert(made.nodes.end(), into.begin(), into.end());
    } else {
      const auto out = row_of(transposed.offsets, transposed.indices, v);
      std::merge(into.begin(), into.end(), out.begin(), out.end(), std::back_inserter(made.nodes));
    }
    auto end = std::unique(made.nodes.begin() + first, made.nodes.end());
    end = std::remove(made.nodes.begin() + first, end, static_cast<NodeId>(v));
    made.nodes.erase(end, made.nodes.end());
    made.offsets.push_back(static_cast<EdgeId>(made.nodes.size()));
  }
  return made;
}

NeighbourRows rows_of(const Neighbours& all) {
  return {static_cast<std::int64_t>(all.nodes.size()), [&all](std::int64_t node) { return all.of(node); }};
}

NeighbourRows in_neighbours(const graph::Graph& graph) {
  const auto sources = std::make_shared<Sweep<NodeId>>(graph.sources());
  NeighbourRows rows;
  rows.of = [&graph, sources, row = std::vector<NodeId>()](std::int64_t node) mutable {
    const auto v = static_cast<std::size_t>(node);
    row.clear();
    for (const NodeId source : sources->at(graph.offsets()[v], graph.offsets()[v + 1])) {
      const bool again = !row.empty() && row.back() == source;
      if (source != node && !again) row.push_back(source);
    }
    return std::span<const NodeId>(row);
  };
  for (std::int64_t v = 0; v < graph.num_nodes(); ++v) rows.entries += std::ssize(rows.of(v));
  return rows;
}

}  // namespace gneiss::partition
