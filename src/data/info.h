// Numbers that describe a data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace gneiss::data {

struct DatasetInfo {
  std::string name;
  std::string format;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;             ///< stored (directed) edges
  std::int64_t undirected_edges = 0;  ///< distinct unordered pairs, self loops left out
  std::int64_t self_loops = 0;
  std::int64_t parallel_edges = 0;  ///< stored edges beyond the first of their kind
  std::int64_t isolated_nodes = 0;  ///< without an edge to or from another node
  std::int64_t max_in_degree = 0;
  double mean_in_degree = 0;
  bool symmetric = false;
  bool weighted = false;
  std::int64_t features = 0;
  std::int64_t feature_nonzeros = 0;
  double feature_density = 0;
  bool features_sparse = false;
  std::string feature_dtype;  ///< f32, bf16 or f16
  LabelKind label_kind = LabelKind::kNone;
  std::int64_t classes = 0;
  std::vector<std::int64_t> class_sizes;  ///< nodes (single label) or positive nodes (many labels) of each class
  std::int64_t unlabelled = 0;
  std::int64_t train = 0;
  std::int64_t val = 0;
  std::int64_t test = 0;
  int num_splits = 0;
  double homophily = 0;  ///< share of undirected edges whose ends have the same class; NaN without classes or edges
  std::int64_t bytes = 0;
  std::string suggested_metric;
  std::vector<std::string> class_names;
  std::vector<std::string> notes;
};

/// Counts everything. O(n + m + features).
DatasetInfo info(const Dataset& dataset);

/// "single", "multi", "regression" or "none".
std::string label_kind_name(LabelKind kind);

}  // namespace gneiss::data
