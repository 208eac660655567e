// What the readers share: ids, CSR parts, labels, masks.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "data/labels.h"
#include "data/readers.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

/// Row offsets [rows + 1] that start with 0, never fall and end with nnz.
Buffer<EdgeId> checked_offsets(const NpyArray& array, std::int64_t rows, std::int64_t nnz) {
  expect_dims(array, 1, "row offsets");
  if (array.count != rows + 1) fail(array.where, fmt::format("expected {} row offsets, got {}", rows + 1, array.count));
  Buffer<EdgeId> offsets = to_int64(array);
  if (offsets[0] != 0) fail(array.where, fmt::format("row offsets must start with 0, got {}", offsets[0]));
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    if (offsets[r + 1] < offsets[r] || offsets[r + 1] > nnz) {
      fail(array.where, fmt::format("row offset [{}] is {}, expected {}..{}", r + 1, offsets[r + 1], offsets[r], nnz));
    }
  }
  if (offsets[static_cast<std::size_t>(rows)] != nnz) {
    fail(array.where, fmt::format("row offsets end with {}, but there are {} entries",
                                  offsets[static_cast<std::size_t>(rows)], nnz));
  }
  return offsets;
}

}  // namespace

std::string stem_of(std::filesystem::path path) {
  if (path.extension() == ".gz") path = path.stem();
  return path.stem().string();
}

std::int64_t checked_node_count(std::int64_t count, const std::string& what, const std::string& where) {
  if (count < 0 || count > std::numeric_limits<NodeId>::max()) {
    fail(where, fmt::format("{} {} are outside what 32-bit ids can number", count, what));
  }
  return count;
}

void check_graph_memory(std::int64_t num_nodes, std::int64_t num_edges, bool to_undirected, std::int64_t max_bytes,
                        const std::string& where) {
  // Building needs about two words a node and, beside the edges themselves, what it makes of an edge (10 bytes) and a
  // copy to sort from (8, if most edges lead to few nodes); with reverses twice that and a list of both (24).
  const double bytes =
      16.0 * static_cast<double>(num_nodes) + (to_undirected ? 60.0 : 18.0) * static_cast<double>(num_edges);
  const auto limit = static_cast<double>(max_bytes > 0 ? max_bytes : memory_limit_bytes());
  if (bytes <= limit) return;
  throw Error(ErrorCode::kOutOfMemory,
              fmt::format("a graph of {} nodes and {} edges needs about {:.0f} MB, the limit is {:.0f} MB", num_nodes,
                          num_edges, bytes / 1e6, limit / 1e6),
              where);
}

graph::Graph make_graph(graph::EdgeList edges, std::int64_t num_nodes, const LoadOptions& options,
                        const FormatHabits& habits, const std::string& where, std::vector<std::string>* notes) {
  graph::BuildOptions build;
  build.to_undirected = options.to_undirected.value_or(habits.to_undirected);
  build.remove_self_loops = options.remove_self_loops.value_or(habits.remove_self_loops);
  build.coalesce = options.coalesce || habits.coalesce;
  build.add_self_loops = options.add_self_loops;
  build.threads = options.threads;
  if (options.ignore_weights) edges.weight = {};
  const std::size_t before = edges.src.size();
  check_graph_memory(num_nodes, static_cast<std::int64_t>(before), build.to_undirected, options.max_bytes, where);
  try {
    graph::Graph graph = graph::build_graph(edges, num_nodes, build);
    if (static_cast<std::size_t>(graph.num_edges()) != before) {
      notes->push_back(fmt::format("{} edges in the file, {} in the graph{}{}{}", before, graph.num_edges(),
                                   build.remove_self_loops ? ", self loops removed" : "",
                                   build.to_undirected ? ", made undirected" : "",
                                   build.coalesce || build.to_undirected ? ", duplicates merged" : ""));
    }
    return graph;
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), where, error.hint());
  }
}

Features sparse_features(const NpyArray& offsets, const NpyArray& indices, const NpyArray& values, std::int64_t rows,
                         std::int64_t cols, int threads) {
  Features features;
  features.rows = checked_node_count(rows, "feature rows", offsets.where);
  features.cols = checked_node_count(cols, "feature columns", offsets.where);
  features.sparse = true;
  if (values.count != indices.count) {
    fail(values.where, fmt::format("{} values for {} column indices", values.count, indices.count));
  }
  features.offsets = checked_offsets(offsets, rows, indices.count);
  features.indices = to_ids(indices, cols, threads);
  features.values = to_floats(values);
  sort_rows(&features);
  return features;
}

Features dense_features(const NpyArray& array) {
  expect_dims(array, 2, "features [nodes, width]");
  Features features;
  features.rows = checked_node_count(array.dim(0), "feature rows", array.where);
  features.cols = checked_node_count(array.dim(1), "feature columns", array.where);
  features.dense = to_floats(array);
  return features;
}

void sort_rows(Features* features) {
  bool sorted = true;
  for (std::int64_t r = 0; r < features->rows && sorted; ++r) {
    const auto row = std::as_const(features->indices)
                         .span()
                         .subspan(static_cast<std::size_t>(features->offsets[static_cast<std::size_t>(r)]),
                                  static_cast<std::size_t>(features->offsets[static_cast<std::size_t>(r) + 1] -
                                                           features->offsets[static_cast<std::size_t>(r)]));
    sorted = std::adjacent_find(row.begin(), row.end(), std::greater_equal<>()) == row.end();
  }
  if (sorted) return;
  std::vector<std::pair<NodeId, float>> row;
  EdgeId at = 0;
  EdgeId begin = 0;
  for (std::int64_t r = 0; r < features->rows; ++r) {
    const EdgeId end = features->offsets[static_cast<std::size_t>(r) + 1];
    row.clear();
    for (EdgeId k = begin; k < end; ++k) {
      row.emplace_back(features->indices[static_cast<std::size_t>(k)], features->values[static_cast<std::size_t>(k)]);
    }
    std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const EdgeId row_begin = at;
    for (const auto& [column, value] : row) {
      if (at > row_begin && features->indices[static_cast<std::size_t>(at - 1)] == column) {
        features->values[static_cast<std::size_t>(at - 1)] += value;
        continue;
      }
      features->indices[static_cast<std::size_t>(at)] = column;
      features->values[static_cast<std::size_t>(at++)] = value;
    }
    features->offsets[static_cast<std::size_t>(r) + 1] = at;
    begin = end;
  }
  if (at != static_cast<EdgeId>(features->indices.size())) {
    features->indices = Buffer<NodeId>::copy_of(features->indices.span().first(static_cast<std::size_t>(at)));
    features->values = Buffer<float>::copy_of(features->values.span().first(static_cast<std::size_t>(at)));
  }
}

graph::EdgeList csr_edges(const NpyArray& offsets, const NpyArray& indices, const NpyArray* values, std::int64_t nodes,
                          int threads) {
  const Buffer<EdgeId> rows = checked_offsets(offsets, nodes, indices.count);
  graph::EdgeList edges;
  edges.dst = to_ids(indices, nodes, threads);
  edges.src = Buffer<NodeId>(edges.dst.size());
  for (std::int64_t r = 0; r < nodes; ++r) {
    std::fill(edges.src.begin() + rows[static_cast<std::size_t>(r)],
              edges.src.begin() + rows[static_cast<std::size_t>(r) + 1], static_cast<NodeId>(r));
  }
  if (values != nullptr) {
    if (values->count != indices.count)
      fail(values->where, fmt::format("{} values for {} edges", values->count, indices.count));
    edges.weight = to_floats(*values);
  }
  return edges;
}

Labels class_labels(std::span<const std::int64_t> values, const std::string& where,
                    std::vector<std::string>* class_names, std::vector<std::string>* notes) {
  std::map<std::int64_t, std::int64_t> count;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 && !is_unlabelled(values[i]))
      fail(where, fmt::format("label [{}] is {}; classes are 0, 1, … and -1 and -100 mean unlabelled", i, values[i]));
    if (values[i] >= 0) ++count[values[i]];
  }
  Labels labels;
  labels.kind = LabelKind::kSingle;
  labels.classes = Buffer<std::int32_t>(values.size());
  const std::int64_t largest = count.empty() ? -1 : count.rbegin()->first;
  std::map<std::int64_t, std::int32_t> renumbered;
  for (const auto& [old, nodes] : count) renumbered.emplace(old, static_cast<std::int32_t>(renumbered.size()));
  labels.num_classes = static_cast<std::int64_t>(renumbered.size());
  for (std::size_t i = 0; i < values.size(); ++i) labels.classes[i] = values[i] < 0 ? -1 : renumbered.at(values[i]);
  if (labels.num_classes != largest + 1) {
    notes->push_back(fmt::format("labels use {} of the numbers 0..{}; renumbered to 0..{}", labels.num_classes, largest,
                                 labels.num_classes - 1));
    std::vector<std::string> names;
    for (const auto& [old, nodes] : count) {
      const bool named = static_cast<std::size_t>(old) < class_names->size();
      names.push_back(named ? (*class_names)[static_cast<std::size_t>(old)] : std::to_string(old));
    }
    *class_names = std::move(names);
  }
  return labels;
}

std::vector<NodeId> mask_ids(const std::vector<bool>& mask) {
  std::vector<NodeId> ids;
  for (std::size_t v = 0; v < mask.size(); ++v) {
    if (mask[v]) ids.push_back(static_cast<NodeId>(v));
  }
  return ids;
}

int split_index(const std::string& split, int available, const std::string& where) {
  int index = -1;
  const auto [end, error] = std::from_chars(split.data(), split.data() + split.size(), index);
  if (split.empty() || error != std::errc{} || end != split.data() + split.size()) return -1;
  if (index < 0 || index >= available) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--split {}: the data offer {} splits{}", split, available,
                            available > 0 ? fmt::format(", 0..{}", available - 1) : ""),
                where, "use --split random, shchur or ratio:60/20/20 to draw one");
  }
  return index;
}

bool is_drawn_split(const std::string& split) {
  return split == "random" || split == "shchur" || split == "none" || split.starts_with("ratio:");
}

}  // namespace gneiss::data
