// Sharing takes views of the large arrays and copies the small ones.
#include "data/given.h"

namespace gneiss::data {

bool is_lent(const Features& features) {
  return is_lent(features.dense) || is_lent(features.halves) || is_lent(features.values);
}

void own_values(Features* features) {
  const auto own = []<class T>(Buffer<T>* buffer) {
    if (is_lent(*buffer)) *buffer = Buffer<T>::copy_of(*buffer);
  };
  own(&features->dense);
  own(&features->halves);
  own(&features->offsets);
  own(&features->indices);
  own(&features->values);
}

Dataset share(const std::shared_ptr<const Dataset>& source) {
  Dataset shared;
  shared.name = source->name;
  shared.format = source->format;
  const graph::Graph& graph = source->graph;
  shared.graph = graph::Graph::of_fitting(graph.num_src(), lend(source, graph.offsets()), lend(source, graph.sources()),
                                          lend(source, graph.weights()), graph.symmetric());
  const Features& features = source->features;
  shared.features.rows = features.rows;
  shared.features.cols = features.cols;
  shared.features.sparse = features.sparse;
  shared.features.dtype = features.dtype;
  shared.features.dense = lend(source, features.dense.span());
  shared.features.halves = lend(source, features.halves.span());
  shared.features.offsets = lend(source, features.offsets.span());
  shared.features.indices = lend(source, features.indices.span());
  shared.features.values = lend(source, features.values.span());
  shared.labels.kind = source->labels.kind;
  shared.labels.classes = Buffer<std::int32_t>::copy_of(source->labels.classes);
  shared.labels.targets = Buffer<float>::copy_of(source->labels.targets);
  shared.labels.num_classes = source->labels.num_classes;
  shared.split = source->split;
  shared.orig_id = source->orig_id;
  shared.class_names = source->class_names;
  shared.notes = source->notes;
  shared.doubts = source->doubts;
  shared.num_splits = source->num_splits;
  shared.node_names = source->node_names;
  shared.feature_names = source->feature_names;
  shared.feature_statistics = source->feature_statistics;
  shared.suggested_metric = source->suggested_metric;
  return shared;
}

}  // namespace gneiss::data
