// Changes to a loaded data set, under PyG's names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace gneiss::data {

/// Adds every edge's reverse and merges duplicates (weights summed). PyG: utils.to_undirected.
graph::Graph to_undirected(const graph::Graph& graph, int threads = 1);
/// Merges parallel edges; weights are summed. PyG: utils.coalesce.
graph::Graph coalesce(const graph::Graph& graph, int threads = 1);
/// The same edges, each of weight 1.
graph::Graph without_weights(const graph::Graph& graph, int threads = 1);
/// Drops edges v -> v. PyG: utils.remove_self_loops.
graph::Graph remove_self_loops(const graph::Graph& graph, int threads = 1);

/// Names that normalize_features takes.
std::vector<std::string> feature_norms();
/// Rescales features in place.
///   none            nothing
///   row             every entry minus the least of all, then each row divided by its sum or by 1 if that is more
///                   (PyG: NormalizeFeatures); signed sparse features become dense
///   standard        each column minus its mean, divided by its deviation, over all nodes; constant columns become 0
///   train-standard  the same with mean and deviation of `train` only (GraphSAINT)
///   binary          values > 0 become 1, others stay (PyG: read_npz)
/// Standardising sparse features makes them dense. `statistics`, if given, are used where they belong to `norm`, and
/// become those of the features where not. Errors: kUsage for an unknown name, or train-standard without
/// training nodes; kBadData for statistics of another width; kOutOfMemory when the dense form is larger than
/// `max_bytes`.
void normalize_features(const std::string& norm, std::span<const NodeId> train, std::int64_t max_bytes,
                        Features* features, FeatureStatistics* statistics = nullptr);

/// Dense form of sparse features. Errors: kOutOfMemory when it is larger than `max_bytes`.
void densify(std::int64_t max_bytes, Features* features);
/// Compressed rows of dense features.
void sparsify(Features* features);

/// The largest weakly connected component (ties: the one with the smallest node), ids ascending.
std::vector<NodeId> largest_component(const graph::Graph& graph);
/// The part of a data set on `nodes` (ascending): induced edges, rows, labels and split renumbered, orig_id kept.
Dataset induced(Dataset dataset, std::span<const NodeId> nodes, int threads = 1);

/// How dense features and targets move to other rows.
enum class Move {
  kInPlace,
  kToFile,        ///< those of a file to others (base/file.h: ScratchFile); memory holds a part of them at a time
  kToFileAtOnce,  ///< the same in a third of the time; memory holds the file's pages meanwhile
};

/// What renaming may take beside the renamed data set.
struct Moving {
  Move features = Move::kInPlace;
  std::int64_t window_bytes = 0;  ///< kToFile: memory for rows on their way; 0: an eighth of them
  bool readable = false;          ///< to one file, which FeatureFile can read; else to one for each of a few threads
  bool edges_once = false;        ///< memory holds edges of a file once, see graph::permute_once
};

/// Renames the nodes: node order[v] becomes node v, and orig_id says which it was. Everything of a node goes with it:
/// edges and their weights, features, labels, parts of the split, name. Errors: kShape if `order` is not a permutation
/// of the nodes; kDisk if a file cannot be written.
void permute(std::span<const NodeId> order, int threads, Dataset* dataset, const Moving& moving = {});
/// The same of all but edges and features, which stay as they are: for who renames those on the way to a file.
void rename_nodes(std::span<const NodeId> order, int threads, Dataset* dataset, const Moving& moving = {});

}  // namespace gneiss::data
