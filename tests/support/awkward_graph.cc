#include "support/awkward_graph.h"

#include <vector>

#include "base/random.h"

namespace gneiss::testing {
namespace {

struct Edge {
  NodeId src;
  NodeId dst;
};

std::vector<Edge> awkward_edges(const AwkwardOptions& options) {
  const auto last = static_cast<NodeId>(options.nodes - 2);  // the last two stay isolated
  std::vector<Edge> edges;
  for (NodeId v = 1; v < last; ++v) edges.push_back({v, 0});  // everything points at the hub
  for (NodeId v = 1; v + 2 < last; v += 2) edges.push_back({0, v});
  for (NodeId v = 1; v + 3 < last; ++v) edges.push_back({v, static_cast<NodeId>(v + 3)});
  if (options.self_loops) edges.insert(edges.end(), {{2, 2}, {3, 3}, {3, 3}});  // one of them twice
  edges.push_back({1, 4});                                                      // parallel to 1 -> 4 above
  edges.push_back({5, 1});
  edges.push_back({5, 1});
  return edges;
}

void fill_features(data::Features* features, std::int64_t nodes, const AwkwardOptions& options, RandomStream* random) {
  features->rows = nodes;
  features->cols = options.features;
  features->sparse = options.sparse_features;
  const auto n = static_cast<std::size_t>(nodes);
  const auto d = static_cast<std::size_t>(options.features);
  if (!options.sparse_features) {
    features->dense = Buffer<float>(n * d);
    for (float& x : features->dense) x = static_cast<float>(random->uniform(-1.0, 1.0));
    return;
  }
  std::vector<NodeId> columns;
  std::vector<float> values;
  features->offsets = Buffer<EdgeId>(n + 1);
  features->offsets[0] = 0;
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t c = 0; c < d; ++c) {
      if (c != v % d && random->uniform() < 0.6) continue;  // no empty row: its scores would lie on a kink
      columns.push_back(static_cast<NodeId>(c));
      values.push_back(static_cast<float>(random->uniform(0.2, 1.0)));
    }
    features->offsets[v + 1] = static_cast<EdgeId>(columns.size());
  }
  features->indices = Buffer<NodeId>::copy_of(columns);
  features->values = Buffer<float>::copy_of(values);
}

void fill_labels(data::Labels* labels, std::int64_t nodes, const AwkwardOptions& options, RandomStream* random) {
  labels->kind = options.labels;
  labels->num_classes = options.classes;
  const auto n = static_cast<std::size_t>(nodes);
  const auto c = static_cast<std::size_t>(options.classes);
  if (options.labels == data::LabelKind::kSingle) {
    labels->classes = Buffer<std::int32_t>(n);
    for (std::int32_t& label : labels->classes) label = static_cast<std::int32_t>(random->below(c));
    return;
  }
  labels->targets = Buffer<float>(n * c);
  for (float& target : labels->targets) {
    const bool regression = options.labels == data::LabelKind::kRegression;
    target = regression ? static_cast<float>(random->normal()) : static_cast<float>(random->below(2));
  }
}

}  // namespace

data::Dataset awkward_dataset(const AwkwardOptions& options) {
  RandomStream random(options.seed, 77);
  const std::vector<Edge> edges = awkward_edges(options);
  graph::EdgeList list{Buffer<NodeId>(edges.size()), Buffer<NodeId>(edges.size()),
                       Buffer<float>(options.weighted ? edges.size() : 0)};
  for (std::size_t e = 0; e < edges.size(); ++e) {
    list.src[e] = edges[e].src;
    list.dst[e] = edges[e].dst;
    if (options.weighted) list.weight[e] = static_cast<float>(random.uniform(0.3, 1.7));
  }
  data::Dataset dataset;
  dataset.name = "awkward";
  dataset.format = "test";
  dataset.graph = graph::build_graph(list, options.nodes);
  fill_features(&dataset.features, options.nodes, options, &random);
  fill_labels(&dataset.labels, options.nodes, options, &random);
  for (NodeId v = 0; v < static_cast<NodeId>(options.nodes); ++v) {
    (v % 2 == 0 ? dataset.split.train : v % 4 == 1 ? dataset.split.val : dataset.split.test).push_back(v);
  }
  return dataset;
}

}  // namespace gneiss::testing
