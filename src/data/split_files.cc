// A column of 0 and 1 that is as long as the graph has nodes is a mask; everything else are ids.
#include "data/split_files.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "data/npy.h"
#include "data/readers.h"
#include "data/table.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

/// The nodes of a data set by the ids that its files gave them.
class NodeIds {
 public:
  explicit NodeIds(const Dataset& dataset) : dataset_(dataset) {
    for (std::size_t v = 0; v < dataset.node_names.size(); ++v)
      by_name_.emplace(dataset.node_names[v], static_cast<NodeId>(v));
    for (std::size_t v = 0; v < dataset.orig_id.size(); ++v)
      by_number_.emplace(dataset.orig_id[v], static_cast<NodeId>(v));
  }

  /// The node, or -1.
  NodeId find(const std::string& id) const {
    if (!by_name_.empty()) {
      const auto found = by_name_.find(id);
      return found == by_name_.end() ? -1 : found->second;
    }
    std::int64_t number;
    if (!parse_whole(id, &number)) return -1;
    if (by_number_.empty()) return number >= 0 && number < dataset_.num_nodes() ? static_cast<NodeId>(number) : -1;
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? -1 : found->second;
  }

 private:
  const Dataset& dataset_;
  std::unordered_map<std::string_view, NodeId> by_name_;
  std::unordered_map<std::int64_t, NodeId> by_number_;
};

/// 0 or 1 for a field of a mask, -1 for anything else.
int mask_value(const std::string& field) {
  if (field == "1" || field == "true" || field == "True" || field == "TRUE" || field == "1.0") return 1;
  if (field == "0" || field == "false" || field == "False" || field == "FALSE" || field == "0.0") return 0;
  return -1;
}

std::vector<NodeId> read_part(const std::filesystem::path& path, const TableOptions& options, const NodeIds& ids,
                              std::int64_t nodes) {
  const Table table = read_id_list(path, options);
  std::vector<NodeId> part;
  const bool mask = table.rows == nodes && std::all_of(table.text.begin(), table.text.end(),
                                                       [](const auto& field) { return mask_value(field) >= 0; });
  if (mask) {
    for (std::size_t v = 0; v < table.text.size(); ++v) {
      if (mask_value(table.text[v]) == 1) part.push_back(static_cast<NodeId>(v));
    }
    return part;
  }
  std::vector<bool> taken(static_cast<std::size_t>(nodes), false);
  for (std::size_t r = 0; r < table.text.size(); ++r) {
    const NodeId v = ids.find(table.text[r]);
    if (v < 0)
      fail(
          table.where_row(r), fmt::format("row {}: '{}' is no node of the data", r + 1, excerpt(table.text[r])),
          fmt::format(
              "ids are those of the data's own files; a mask has one 0 or 1 for each of the {} nodes, here are {} rows",
              nodes, table.rows));
    if (taken[static_cast<std::size_t>(v)])
      fail(table.where_row(r), fmt::format("row {}: node '{}' is given twice", r + 1, excerpt(table.text[r])),
           fmt::format("a mask has one 0 or 1 for each of the {} nodes, here are {} rows", nodes, table.rows));
    taken[static_cast<std::size_t>(v)] = true;
    part.push_back(v);
  }
  std::sort(part.begin(), part.end());
  return part;
}

}  // namespace

void read_split_files(const LoadOptions& options, Dataset* out) {
  if (options.train_ids.empty() && options.val_ids.empty() && options.test_ids.empty()) return;
  if (options.train_ids.empty())
    throw Error(ErrorCode::kUsage, "validation or test nodes are given without training nodes", {},
                "add --train-ids FILE");
  if (!options.split.empty())
    throw Error(ErrorCode::kUsage, fmt::format("--split {} and --train-ids both say which nodes train", options.split),
                {}, "leave one of them out");
  const NodeIds ids(*out);
  const auto part = [&](const std::filesystem::path& path) {
    return path.empty() ? std::vector<NodeId>() : read_part(path, options.tables, ids, out->num_nodes());
  };
  out->split = {part(options.train_ids), part(options.val_ids), part(options.test_ids)};
  out->num_splits = 1;
}

}  // namespace gneiss::data
