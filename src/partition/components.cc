// Components are found breadth first and packed as things into bins: heaviest first, into the fullest that has room.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "partition/cuts.h"

namespace gneiss::partition {
namespace {

/// What a part may have, of the mean.
constexpr double kMostLoad = 1.05;

/// [nodes] the component of each node, numbered in the order of their least nodes.
std::vector<std::int32_t> components_of(const Neighbours& neighbours, std::int32_t* count) {
  const auto n = static_cast<std::size_t>(neighbours.num_nodes());
  std::vector<std::int32_t> component(n, -1);
  std::vector<NodeId> queue;
  *count = 0;
  for (std::size_t root = 0; root < n; ++root) {
    if (component[root] >= 0) continue;
    component[root] = *count;
    queue.assign(1, static_cast<NodeId>(root));
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const NodeId to : neighbours.of(queue[next])) {
        if (component[static_cast<std::size_t>(to)] >= 0) continue;
        component[static_cast<std::size_t>(to)] = *count;
        queue.push_back(to);
      }
    }
    ++*count;
  }
  return component;
}

}  // namespace

Owners cut_components(const graph::Graph& graph, const Neighbours& neighbours, const CutOptions& options) {
  std::int32_t count = 0;
  const std::vector<std::int32_t> component = components_of(neighbours, &count);
  const std::vector<double> work = node_work(graph, options);
  std::vector<double> weight(static_cast<std::size_t>(count));
  for (std::size_t v = 0; v < work.size(); ++v) weight[static_cast<std::size_t>(component[v])] += work[v];

  const double room = kMostLoad * std::accumulate(work.begin(), work.end(), 0.0) / options.parts;
  std::vector<std::int32_t> order(weight.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return weight[static_cast<std::size_t>(a)] > weight[static_cast<std::size_t>(b)];
  });
  if (!order.empty() && options.parts > 1) {
    const double heaviest = weight[static_cast<std::size_t>(order.front())];
    GNEISS_CHECK(heaviest <= room, ErrorCode::kUnsupported,
                 "one component has {:.1f} % of all work, a part of {} may have {:.1f} %",
                 100 * heaviest * kMostLoad / (room * options.parts), options.parts, 100 * kMostLoad / options.parts);
  }
  std::vector<double> load(static_cast<std::size_t>(options.parts));
  std::vector<std::int32_t> part_of(weight.size());
  for (const std::int32_t c : order) {
    const double own = weight[static_cast<std::size_t>(c)];
    std::size_t best = 0;
    for (std::size_t p = 1; p < load.size(); ++p) {
      const bool fits = load[p] + own <= room;
      const bool best_fits = load[best] + own <= room;
      // The fullest with room; where none has, the emptiest.
      if (fits != best_fits ? fits : fits ? load[p] > load[best] : load[p] < load[best]) best = p;
    }
    part_of[static_cast<std::size_t>(c)] = static_cast<std::int32_t>(best);
    load[best] += own;
  }
  Owners owners(component.size());
  for (std::size_t v = 0; v < owners.size(); ++v) owners[v] = part_of[static_cast<std::size_t>(component[v])];
  return owners;
}

}  // namespace gneiss::partition
