// Geom-GCN's text form: out1_graph_edges.txt (`from to`) and out1_node_feature_label.txt (`id features label`), with a
// header line each, and ten split files beside them.
//
// The feature column lists 0/1 values, or for the film (actor) set the columns that are 1; the header's
// "feature_amount" or a value above 1 tells them apart. Directed as stored; PyG merges duplicate edges.
// Source: bingzhewei/geom-gcn; pyg datasets/webkb.py and actor.py.
#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/readers.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

struct NodeRow {
  std::vector<NodeId> ones;
  std::int64_t width = 0;
  std::int64_t label = -1;
  bool seen = false;
};

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorCode::kBadData, message, where);
}

std::int64_t whole(std::string_view field, const LineReader& lines, const char* what) {
  std::int64_t value;
  if (!parse_int(trim(field), &value) || value < 0 || value >= std::numeric_limits<NodeId>::max()) {
    fail(lines.where(), fmt::format("expected {}, got '{}'", what, excerpt(field)));
  }
  return value;
}

/// The features of one line: columns that are 1, and how wide the row is.
NodeRow parse_features(std::string_view list, bool listed, const LineReader& lines) {
  NodeRow row;
  std::string_view rest = list;
  std::string_view field;
  for (NodeId column = 0; next_field(',', &rest, &field); ++column) {
    if (field.empty()) continue;
    const std::int64_t value = whole(field, lines, "a feature");
    if (!listed && value > 1) fail(lines.where(), fmt::format("expected 0 or 1, got {}", value));
    if (listed || value == 1) row.ones.push_back(listed ? static_cast<NodeId>(value) : column);
    row.width = std::max<std::int64_t>(row.width, listed ? value + 1 : column + 1);
  }
  std::sort(row.ones.begin(), row.ones.end());
  row.ones.erase(std::unique(row.ones.begin(), row.ones.end()), row.ones.end());
  return row;
}

std::vector<NodeRow> read_rows(const std::filesystem::path& path) {
  LineReader lines(path);
  std::string_view line;
  if (!lines.next(&line)) fail(path.string(), "the file is empty");
  const bool listed = line.find("feature_amount") != std::string_view::npos;
  std::vector<NodeRow> rows;
  std::int64_t count = 0;
  std::int64_t largest = -1;
  std::vector<std::pair<std::int64_t, NodeRow>> read;
  while (lines.next(&line)) {
    if (trim(line).empty()) continue;
    std::string_view rest = line;
    std::string_view id;
    std::string_view list;
    std::string_view label;
    const bool three =
        next_field('\t', &rest, &id) && next_field('\t', &rest, &list) && next_field('\t', &rest, &label);
    if (!three) fail(lines.where(), "expected three fields with tabs between: id, features, label");
    NodeRow row = parse_features(list, listed, lines);
    row.label = whole(label, lines, "a label");
    row.seen = true;
    largest = std::max(largest, whole(id, lines, "a node id"));
    read.emplace_back(whole(id, lines, "a node id"), std::move(row));
    ++count;
  }
  if (largest + 1 != count)
    fail(path.string(), fmt::format("{} nodes, but ids up to {}: some are missing or repeated", count, largest));
  rows.resize(static_cast<std::size_t>(count));
  for (auto& [id, row] : read) {
    NodeRow& slot = rows[static_cast<std::size_t>(id)];
    if (slot.seen) fail(path.string(), fmt::format("node {} has two lines", id));
    slot = std::move(row);
  }
  return rows;
}

graph::EdgeList read_pairs(const std::filesystem::path& path, std::int64_t nodes) {
  LineReader lines(path);
  std::string_view line;
  std::vector<NodeId> src;
  std::vector<NodeId> dst;
  bool header = true;
  while (lines.next(&line)) {
    if (std::exchange(header, false) || trim(line).empty()) continue;
    std::string_view rest = line;
    std::string_view field;
    for (auto* end : {&src, &dst}) {
      if (!next_field('\t', &rest, &field)) fail(lines.where(), "expected two node ids with a tab between");
      const std::int64_t id = whole(field, lines, "a node id");
      if (id >= nodes) fail(lines.where(), fmt::format("node {} is outside 0..{}", id, nodes - 1));
      end->push_back(static_cast<NodeId>(id));
    }
  }
  return {Buffer<NodeId>::copy_of(src), Buffer<NodeId>::copy_of(dst), {}};
}

Features join_rows(const std::vector<NodeRow>& rows) {
  Features features;
  features.rows = static_cast<std::int64_t>(rows.size());
  features.sparse = true;
  features.offsets = Buffer<EdgeId>::zeros(rows.size() + 1);
  for (std::size_t v = 0; v < rows.size(); ++v) {
    features.cols = std::max(features.cols, rows[v].width);
    features.offsets[v + 1] = features.offsets[v] + static_cast<EdgeId>(rows[v].ones.size());
  }
  features.indices = Buffer<NodeId>(static_cast<std::size_t>(features.offsets[rows.size()]));
  features.values = Buffer<float>(features.indices.size());
  for (std::size_t v = 0; v < rows.size(); ++v) {
    std::copy(rows[v].ones.begin(), rows[v].ones.end(), features.indices.begin() + features.offsets[v]);
  }
  std::fill(features.values.begin(), features.values.end(), 1.0F);
  return features;
}

}  // namespace

Dataset read_geom_gcn(const std::filesystem::path& given, const LoadOptions& options) {
  const std::filesystem::path folder = std::filesystem::is_directory(given) ? given : given.parent_path();
  Dataset out;
  out.name = std::filesystem::absolute(folder / "x").parent_path().filename().string();
  out.format = "geom-gcn";
  const std::filesystem::path node_path = folder / "out1_node_feature_label.txt";
  const std::filesystem::path edge_path = folder / "out1_graph_edges.txt";
  const std::vector<NodeRow> rows = read_rows(node_path);
  const auto nodes = static_cast<std::int64_t>(rows.size());
  out.features = join_rows(rows);
  std::vector<std::int64_t> labels;
  for (const NodeRow& row : rows) labels.push_back(row.label);
  out.labels = class_labels(labels, node_path.string(), &out.class_names, &out.notes);
  out.graph =
      make_graph(read_pairs(edge_path, nodes), nodes, options, {.coalesce = true}, edge_path.string(), &out.notes);
  out.num_splits = count_geom_splits(folder);
  if (out.num_splits == 0 || is_drawn_split(options.split)) return out;
  out.split = read_geom_split(folder, std::max(0, split_index(options.split, out.num_splits, folder.string())), nodes);
  return out;
}

}  // namespace gneiss::data
