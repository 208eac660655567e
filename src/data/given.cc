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
  // All members by name: one that is added is missing here, and the compiler says so.
  const auto& [name, format, graph, features, labels, split, orig_id, class_names, notes, doubts, part_starts, by_parts,
               allows_nan, files_hash, num_splits, node_names, feature_names, feature_statistics, suggested_metric] =
      *source;
  Dataset shared;
  shared.name = name;
  shared.format = format;
  shared.graph = graph::Graph::of_fitting(graph.num_src(), lend(source, graph.offsets()), lend(source, graph.sources()),
                                          lend(source, graph.weights()), graph.symmetric());
  shared.features.rows = features.rows;
  shared.features.cols = features.cols;
  shared.features.sparse = features.sparse;
  shared.features.dtype = features.dtype;
  shared.features.dense = lend(source, features.dense.span());
  shared.features.halves = lend(source, features.halves.span());
  shared.features.offsets = lend(source, features.offsets.span());
  shared.features.indices = lend(source, features.indices.span());
  shared.features.values = lend(source, features.values.span());
  shared.labels.kind = labels.kind;
  shared.labels.classes = Buffer<std::int32_t>::copy_of(labels.classes);
  shared.labels.targets = Buffer<float>::copy_of(labels.targets);
  shared.labels.num_classes = labels.num_classes;
  shared.split = split;
  shared.orig_id = orig_id;
  shared.class_names = class_names;
  shared.notes = notes;
  shared.doubts = doubts;
  shared.by_parts = by_parts;
  shared.allows_nan = allows_nan;
  shared.files_hash = files_hash;
  shared.num_splits = num_splits;
  shared.node_names = node_names;
  shared.feature_names = feature_names;
  shared.feature_statistics = feature_statistics;
  shared.suggested_metric = suggested_metric;
  shared.part_starts = part_starts;
  return shared;
}

}  // namespace gneiss::data
