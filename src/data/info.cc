// Counts edges, degrees and labels.
#include "data/info.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gneiss::data {
namespace {

/// Edge counts. An undirected edge is counted at u -> v with u < v, or at u > v when v -> u is not stored.
void count_edges(const Dataset& dataset, DatasetInfo* out) {
  const auto offsets = dataset.graph.offsets();
  const auto sources = dataset.graph.sources();
  const bool classes = dataset.labels.kind == LabelKind::kSingle;
  std::vector<bool> touched(static_cast<std::size_t>(out->nodes), false);
  std::int64_t same = 0;
  std::int64_t labelled = 0;
  const auto stored = [&](NodeId u, NodeId v) {
    const auto row = static_cast<std::size_t>(v);
    return std::binary_search(sources.begin() + offsets[row], sources.begin() + offsets[row + 1], u);
  };
  for (std::size_t v = 0; v < static_cast<std::size_t>(out->nodes); ++v) {
    out->max_in_degree = std::max(out->max_in_degree, offsets[v + 1] - offsets[v]);
    for (EdgeId k = offsets[v]; k < offsets[v + 1]; ++k) {
      const NodeId u = sources[static_cast<std::size_t>(k)];
      const auto dst = static_cast<NodeId>(v);
      const bool again = k > offsets[v] && sources[static_cast<std::size_t>(k - 1)] == u;
      out->parallel_edges += again ? 1 : 0;
      if (u == dst) {
        ++out->self_loops;
        continue;
      }
      touched[v] = true;
      touched[static_cast<std::size_t>(u)] = true;
      if (again || (u > dst && stored(dst, u))) continue;
      ++out->undirected_edges;
      if (!classes) continue;
      const std::int32_t a = dataset.labels.classes[static_cast<std::size_t>(u)];
      const std::int32_t b = dataset.labels.classes[v];
      if (a < 0 || b < 0) continue;
      ++labelled;
      same += a == b ? 1 : 0;
    }
  }
  out->isolated_nodes = std::count(touched.begin(), touched.end(), false);
  out->homophily = labelled > 0 ? static_cast<double>(same) / static_cast<double>(labelled)
                                : std::numeric_limits<double>::quiet_NaN();
}

void count_labels(const Labels& labels, std::int64_t nodes, DatasetInfo* out) {
  out->label_kind = labels.kind;
  out->classes = labels.num_classes;
  if (labels.kind == LabelKind::kSingle) {
    out->class_sizes.assign(static_cast<std::size_t>(labels.num_classes), 0);
    for (const std::int32_t c : labels.classes) {
      if (c < 0 || c >= labels.num_classes) {
        ++out->unlabelled;
      } else {
        ++out->class_sizes[static_cast<std::size_t>(c)];
      }
    }
  } else if (labels.kind != LabelKind::kNone) {
    const auto width = static_cast<std::size_t>(labels.num_classes);
    if (labels.kind == LabelKind::kMulti) out->class_sizes.assign(width, 0);
    for (std::size_t v = 0; v < static_cast<std::size_t>(nodes); ++v) {
      bool any = false;
      for (std::size_t c = 0; c < width; ++c) {
        const float target = labels.targets[v * width + c];
        any = any || !std::isnan(target);
        if (labels.kind == LabelKind::kMulti && target == 1.0F) ++out->class_sizes[c];
      }
      out->unlabelled += any ? 0 : 1;
    }
  }
}

}  // namespace

DatasetInfo info(const Dataset& dataset) {
  DatasetInfo out;
  out.name = dataset.name;
  out.format = dataset.format;
  out.nodes = dataset.num_nodes();
  out.edges = dataset.graph.num_edges();
  out.mean_in_degree = out.nodes > 0 ? static_cast<double>(out.edges) / static_cast<double>(out.nodes) : 0;
  out.symmetric = dataset.graph.symmetric();
  out.weighted = dataset.graph.weighted();
  count_edges(dataset, &out);
  out.features = dataset.features.cols;
  out.feature_nonzeros = dataset.features.nonzeros();
  out.features_sparse = dataset.features.sparse;
  out.feature_dtype = half_name(dataset.features.dtype);
  const double cells = static_cast<double>(dataset.features.rows) * static_cast<double>(dataset.features.cols);
  out.feature_density = cells > 0 ? static_cast<double>(out.feature_nonzeros) / cells : 0;
  count_labels(dataset.labels, out.nodes, &out);
  out.train = static_cast<std::int64_t>(dataset.split.train.size());
  out.val = static_cast<std::int64_t>(dataset.split.val.size());
  out.test = static_cast<std::int64_t>(dataset.split.test.size());
  out.num_splits = dataset.num_splits;
  out.bytes = dataset.bytes();
  out.suggested_metric = dataset.suggested_metric;
  out.class_names = dataset.class_names;
  out.notes = dataset.notes;
  return out;
}

std::string label_kind_name(LabelKind kind) {
  switch (kind) {
    case LabelKind::kNone:
      return "none";
    case LabelKind::kSingle:
      return "single";
    case LabelKind::kMulti:
      return "multi";
    case LabelKind::kRegression:
      return "regression";
  }
  return "none";
}

}  // namespace gneiss::data
