#include "inputs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "graph/reorder.h"

namespace gneiss::bench {
namespace {

/// A draw below `bound`, skewed towards 0.
NodeId skewed(RandomStream& random, std::int64_t bound, double power) {
  return static_cast<NodeId>(std::pow(random.uniform(), power) * static_cast<double>(bound));
}

GraphInput communities(std::int64_t nodes, std::int64_t edges, std::int64_t tiles) {
  RandomStream random(1, 1);
  std::vector<NodeId> name(static_cast<std::size_t>(nodes));
  std::iota(name.begin(), name.end(), 0);
  for (std::size_t i = name.size() - 1; i > 0; --i) std::swap(name[i], name[random.below(i + 1)]);
  const std::int64_t tile = (nodes + tiles - 1) / tiles;
  std::vector<std::pair<NodeId, NodeId>> list(static_cast<std::size_t>(edges));
  for (auto& [dst, src] : list) {
    // Community members are spread over the popular and the unpopular, hence the stride.
    const std::int64_t v = skewed(random, nodes, 1.5) * std::int64_t{7919} % nodes;
    const std::int64_t first = v / tile * tile;
    const bool inside = random.uniform() < 0.65;
    const std::int64_t u = inside ? first + skewed(random, std::min(tile, nodes - first), 2) : skewed(random, nodes, 2);
    dst = name[static_cast<std::size_t>(v)];
    src = name[static_cast<std::size_t>(u)];
  }
  std::sort(list.begin(), list.end());
  GraphInput graph{nodes, Buffer<EdgeId>::zeros(static_cast<std::size_t>(nodes) + 1), Buffer<NodeId>(list.size())};
  for (std::size_t k = 0; k < list.size(); ++k) {
    ++graph.offsets[static_cast<std::size_t>(list[k].first) + 1];
    graph.indices[k] = list[k].second;
  }
  for (std::size_t v = 1; v < graph.offsets.size(); ++v) graph.offsets[v] += graph.offsets[v - 1];
  return graph;
}

GraphInput in_clusters(const GraphInput& from) {
  const graph::Graph graph(from.nodes, Buffer<EdgeId>::copy_of(from.offsets), Buffer<NodeId>::copy_of(from.indices));
  const graph::Graph ordered =
      graph::permute(graph, graph::cluster_order(graph, available_threads()), available_threads());
  return {from.nodes, Buffer<EdgeId>::copy_of(ordered.offsets()), Buffer<NodeId>::copy_of(ordered.sources())};
}

}  // namespace

const GraphInput& graph_input(std::string_view name) {
  static std::map<std::string, GraphInput, std::less<>> graphs;
  const auto found = graphs.find(name);
  if (found != graphs.end()) return found->second;
  if (name == "arxiv") return graphs.emplace(name, communities(169'343, 2'260'000, 105)).first->second;
  if (name == "reddit") return graphs.emplace(name, communities(232'965, 114'615'892, 46)).first->second;
  if (name == "arxiv-directed") return graphs.emplace(name, communities(169'343, 1'166'000, 105)).first->second;
  if (name == "reddit-tenth") return graphs.emplace(name, communities(23'297, 12'400'000, 46)).first->second;
  if (name == "products") return graphs.emplace(name, communities(2'449'029, 123'718'280, 12'000)).first->second;
  if (name.ends_with("-clusters")) {
    return graphs.emplace(name, in_clusters(graph_input(name.substr(0, name.rfind('-'))))).first->second;
  }
  throw Error(ErrorCode::kUsage, fmt::format("there is no graph '{}'", name), {},
              "known: arxiv, arxiv-directed, reddit, reddit-tenth, products, and each with -clusters");
}

Buffer<float> random_values(std::int64_t size, std::uint64_t seed) {
  RandomStream random(seed, 2);
  Buffer<float> values(static_cast<std::size_t>(size));
  for (float& x : values) x = static_cast<float>(random.uniform(-1, 1));
  return values;
}

}  // namespace gneiss::bench
