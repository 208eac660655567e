// The cuts that need no look at neighbours but through an order: by prefix sums of work, or by a heap of loads.
#include "partition/cuts.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "graph/reorder.h"
#include "partition/contiguous.h"

namespace gneiss::partition {
namespace {

/// Runs of `order` of about equal work: the node at a target goes where more of it lies.
Owners cut_order(std::span<const NodeId> order, const std::vector<double>& work, int parts) {
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  Owners owners(work.size());
  double before = 0;
  for (const NodeId node : order) {
    const double own = work[static_cast<std::size_t>(node)];
    const double middle = before + own / 2;
    owners[static_cast<std::size_t>(node)] =
        std::min(parts - 1, all > 0 ? static_cast<std::int32_t>(middle * parts / all) : 0);
    before += own;
  }
  return owners;
}

}  // namespace

std::vector<double> node_work(const graph::Graph& graph, const CutOptions& options) {
  std::vector<double> work(static_cast<std::size_t>(graph.num_nodes()));
  for (std::size_t v = 0; v < work.size(); ++v)
    work[v] = static_cast<double>(graph.offsets()[v + 1] - graph.offsets()[v]) + options.node_work;
  return work;
}

Owners cut_contiguous(const graph::Graph& graph, const CutOptions& options) {
  return owners_of(contiguous(graph.offsets(), options.parts, options.node_work));
}

Owners cut_by_clusters(const graph::Graph& graph, const CutOptions& options) {
  return cut_order(graph::cluster_order(graph, options.threads), node_work(graph, options), options.parts);
}

Owners cut_by_degree(const graph::Graph& graph, const CutOptions& options) {
  const std::vector<double> work = node_work(graph, options);
  std::vector<NodeId> order(work.size());
  std::iota(order.begin(), order.end(), NodeId{0});
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
    return work[static_cast<std::size_t>(a)] > work[static_cast<std::size_t>(b)];
  });
  using Load = std::pair<double, std::int32_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::int32_t p = 0; p < options.parts; ++p) loads.emplace(0.0, p);
  Owners owners(work.size());
  for (const NodeId node : order) {
    const auto [load, part] = loads.top();
    loads.pop();
    owners[static_cast<std::size_t>(node)] = part;
    loads.emplace(load + work[static_cast<std::size_t>(node)], part);
  }
  return owners;
}

}  // namespace gneiss::partition
