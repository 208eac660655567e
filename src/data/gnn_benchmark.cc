// gnn-benchmark .npz (Amazon, Coauthor, CoraFull, …): flat CSR members adj_* and attr_*, and labels.
//
// As PyG reads it: edges unweighted, self loops removed, made undirected; attributes binarised. Object members (pickled
// class names) are skipped; without attr_* the set has no features. No split is inside.
// Source: pyg torch_geometric/io/npz.py; [shchur2018pitfalls].
#include <utility>

#include "base/error.h"
#include "data/readers.h"

namespace gneiss::data {
namespace {

std::pair<std::int64_t, std::int64_t> read_shape(const NpzFile& file, const std::string& name) {
  const NpyArray array = file.array(name);
  const Buffer<std::int64_t> sizes = to_int64(array);
  if (sizes.size() != 2 || sizes[0] < 0 || sizes[1] < 0) {
    throw Error(ErrorCode::kBadData, "expected two sizes [rows, columns]", array.where);
  }
  return {sizes[0], sizes[1]};
}

}  // namespace

Dataset read_gnn_benchmark(const std::filesystem::path& path, const LoadOptions& options) {
  const NpzFile file(path, options.threads);
  Dataset out;
  out.name = path.stem().string();
  out.format = "gnn-benchmark";
  if (!file.has("adj_shape") && file.has("adj_matrix")) file.array("adj_matrix");  // pickled: says so
  const auto [rows, cols] = read_shape(file, "adj_shape");
  if (rows != cols)
    throw Error(ErrorCode::kBadData, fmt::format("the adjacency matrix is {} x {}, not square", rows, cols),
                path.string() + ":adj_shape");
  const std::int64_t nodes = checked_node_count(rows, "nodes", path.string());

  const FormatHabits habits{.to_undirected = true, .remove_self_loops = true, .binarize = true, .split = "shchur"};
  graph::EdgeList edges =
      csr_edges(file.array("adj_indptr"), file.array("adj_indices"), nullptr, nodes, options.threads);
  out.graph = make_graph(std::move(edges), nodes, options, habits, path.string() + ":adj_indices", &out.notes);

  if (file.has("attr_indptr")) {
    const auto [attr_rows, attr_cols] = read_shape(file, "attr_shape");
    if (attr_rows != nodes)
      throw Error(ErrorCode::kBadData, fmt::format("{} feature rows for {} nodes", attr_rows, nodes),
                  path.string() + ":attr_shape");
    out.features = sparse_features(file.array("attr_indptr"), file.array("attr_indices"), file.array("attr_data"),
                                   attr_rows, attr_cols, options.threads);
  } else if (file.readable("attr_matrix")) {
    out.features = dense_features(file.array("attr_matrix"));
    if (out.features.rows != nodes)
      throw Error(ErrorCode::kBadData, fmt::format("{} feature rows for {} nodes", out.features.rows, nodes),
                  path.string() + ":attr_matrix");
  }
  if (file.readable("class_names")) out.class_names = to_strings(file.array("class_names"));
  if (file.has("labels")) {
    const NpyArray labels = file.array("labels");
    expect_dims(labels, 1, "labels [nodes]");
    if (labels.count != nodes)
      throw Error(ErrorCode::kBadData, fmt::format("{} labels for {} nodes", labels.count, nodes), labels.where);
    const Buffer<std::int64_t> values = to_int64(labels);
    out.labels = class_labels(values, labels.where, &out.class_names, &out.notes);
  }
  out.num_splits = 0;
  return out;
}

}  // namespace gneiss::data
