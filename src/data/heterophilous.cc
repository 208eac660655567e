// The heterophilous .npz family (roman-empire, minesweeper, chameleon, …): node_features, node_labels, edges [m, 2] and
// {train,val,test}_masks [splits, n], or [n] for one split.
//
// Each undirected edge is stored once, so edges are mirrored unless the file's name ends in "_directed". Two-class sets
// are judged by ROC-AUC in the source. Source: pyg datasets/heterophilous_graph_dataset.py; [platonov2023heterophily].
#include <utility>

#include "base/error.h"
#include "data/readers.h"

namespace gneiss::data {
namespace {

/// Edges [m, 2], or [2, m] as PyG's edge_index.
graph::EdgeList read_pairs(const NpyArray& array, std::int64_t nodes, int threads) {
  expect_dims(array, 2, "edges [m, 2] or [2, m]");
  const bool two_rows = array.dim(0) == 2 && array.dim(1) != 2;
  if (array.dim(1) != 2 && !two_rows)
    throw Error(ErrorCode::kBadData, fmt::format("expected edges [m, 2] or [2, m], got {}", shape_text(array)),
                array.where, "an edge is a pair of node ids");
  const Buffer<NodeId> ids = to_ids(array, nodes, threads);
  const auto count = static_cast<std::size_t>(two_rows ? array.dim(1) : array.dim(0));
  graph::EdgeList edges{Buffer<NodeId>(count), Buffer<NodeId>(count), {}};
  for (std::size_t e = 0; e < count; ++e) {
    edges.src[e] = ids[two_rows ? e : 2 * e];
    edges.dst[e] = ids[two_rows ? count + e : 2 * e + 1];
  }
  return edges;
}

/// Row `index` of a [splits, nodes] mask; [nodes] is one split.
std::vector<NodeId> read_mask(NpyArray array, int index, std::int64_t nodes) {
  if (array.shape.size() == 1) array.shape.insert(array.shape.begin(), 1);
  expect_dims(array, 2, "masks [splits, nodes] or [nodes]");
  if (array.dim(1) != nodes || index >= array.dim(0)) {
    throw Error(ErrorCode::kBadData, fmt::format("expected masks for {} nodes, got {}", nodes, shape_text(array)),
                array.where);
  }
  const std::vector<bool> all = to_bools(array);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(index) * nodes;
  return mask_ids({begin, begin + nodes});
}

}  // namespace

Dataset read_heterophilous(const std::filesystem::path& path, const LoadOptions& options) {
  const NpzFile file(path, options.threads);
  Dataset out;
  out.name = path.stem().string();
  out.format = "heterophilous";
  out.features = dense_features(file.array("node_features"));
  const std::int64_t nodes = out.features.rows;
  const NpyArray labels = file.array("node_labels");
  expect_dims(labels, 1, "labels [nodes]");
  if (labels.count != nodes)
    throw Error(ErrorCode::kBadData, fmt::format("{} labels for {} nodes", labels.count, nodes), labels.where);
  const Buffer<std::int64_t> values = to_int64(labels);
  out.labels = class_labels(values, labels.where, &out.class_names, &out.notes);
  if (out.labels.num_classes == 2) out.suggested_metric = "rocauc";

  const bool directed = out.name.ends_with("_directed");
  const FormatHabits habits{.to_undirected = !directed};
  out.graph = make_graph(read_pairs(file.array("edges"), nodes, options.threads), nodes, options, habits,
                         path.string() + ":edges", &out.notes);

  if (!file.has("train_masks")) {
    out.num_splits = 0;
    return out;
  }
  const NpyArray train = file.array("train_masks");
  out.num_splits = train.shape.size() == 1 ? 1 : static_cast<int>(std::min<std::int64_t>(train.dim(0), 1 << 20));
  const int index = std::max(0, split_index(options.split, out.num_splits, path.string()));
  out.split = {read_mask(file.array("train_masks"), index, nodes), read_mask(file.array("val_masks"), index, nodes),
               read_mask(file.array("test_masks"), index, nodes)};
  return out;
}

}  // namespace gneiss::data
