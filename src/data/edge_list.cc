// Edge lists as text: SNAP, KONECT, CSV and TSV; plain or gzip.
//
// A line is `u v [weight …]`; lines that begin with # or % and blank lines are skipped; a header line is recognised and
// skipped. Ids are any 64-bit integers or, when the first edge's are not, any words; they are renumbered (integers by
// value, words by first appearance) and kept as orig_id or node_names. The file is read twice: once for ids and counts,
// once for edges, so that memory is that of the result and one table of ids. Feature and label files: see table.h. When
// their rows carry ids, nodes are the union of all ids; otherwise row r is node r and ids must lie in 0..rows-1.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "data/readers.h"
#include "data/table.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

/// Ids of nodes, numbers or words, and the node that each became.
class IdMap {
 public:
  bool words = false;

  void add(std::int64_t id) {
    if (id >= 0 && id < kDirect) {
      const auto slot = static_cast<std::size_t>(id);
      if (slot >= seen_.size())
        seen_.resize(std::max(slot + 1, std::min<std::size_t>(kDirect, seen_.size() * 2)), false);
      seen_[slot] = true;
      return;
    }
    sparse_.push_back(id);
    if (sparse_.size() >= next_compaction_) compact();
  }
  void add(std::string_view word) {
    const auto [at, fresh] = by_word_.try_emplace(std::string(word), static_cast<NodeId>(names_.size()));
    if (!fresh) return;
    if (names_.size() >= kMaxNodes) fail(std::string(word), "more nodes than 32-bit ids can number");
    names_.push_back(at->first);
  }

  /// Numbers the ids: integers by value. Errors: kBadData when there are too many.
  void finish(const std::string& where) {
    if (words) return;
    compact();
    const auto split = std::lower_bound(sparse_.begin(), sparse_.end(), 0);
    ids_.assign(sparse_.begin(), split);
    const auto below = ids_.size();
    for (std::size_t slot = 0; slot < seen_.size(); ++slot) {
      if (seen_[slot]) ids_.push_back(static_cast<std::int64_t>(slot));
    }
    // A table by id is the fastest, but not for a few ids spread over many numbers.
    if (seen_.size() <= kMaxSpread * (ids_.size() - below) + kSmallTable) {
      direct_.assign(seen_.size(), -1);
      for (std::size_t node = below; node < ids_.size(); ++node)
        direct_[static_cast<std::size_t>(ids_[node])] = static_cast<NodeId>(node);
    }
    ids_.insert(ids_.end(), split, sparse_.end());
    checked_node_count(static_cast<std::int64_t>(ids_.size()), "nodes", where);
    seen_ = std::vector<bool>();  // `{}` would keep their memory
    sparse_ = std::vector<std::int64_t>();
  }
  /// Nodes are 0..count-1 as they are.
  void set_identity(std::int64_t count) { identity_ = count; }

  std::int64_t size() const {
    if (identity_ >= 0) return identity_;
    return words ? static_cast<std::int64_t>(names_.size()) : static_cast<std::int64_t>(ids_.size());
  }
  /// The node of an id, or -1.
  NodeId find(std::int64_t id) const {
    if (identity_ >= 0) return id >= 0 && id < identity_ ? static_cast<NodeId>(id) : -1;
    if (id >= 0 && static_cast<std::uint64_t>(id) < direct_.size()) return direct_[static_cast<std::size_t>(id)];
    const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
    return at != ids_.end() && *at == id ? static_cast<NodeId>(at - ids_.begin()) : -1;
  }
  NodeId find(std::string_view word) const {
    const auto at = by_word_.find(std::string(word));
    return at == by_word_.end() ? -1 : at->second;
  }

  void describe(Dataset* out) {
    if (identity_ >= 0) return;
    if (words) {
      out->node_names = std::move(names_);
      return;
    }
    const bool identity =
        ids_.empty() || (ids_.front() == 0 && ids_.back() == static_cast<std::int64_t>(ids_.size()) - 1);
    if (identity) return;
    out->notes.push_back(fmt::format("ids {}..{} renumbered to 0..{}", ids_.front(), ids_.back(), ids_.size() - 1));
    out->orig_id = std::move(ids_);
  }

 private:
  static constexpr std::int64_t kDirect = std::int64_t{1} << 27;
  static constexpr std::size_t kMaxSpread = 16;
  static constexpr std::size_t kSmallTable = std::size_t{1} << 16;
  static constexpr std::size_t kMaxNodes = std::numeric_limits<NodeId>::max();

  void compact() {
    std::sort(sparse_.begin(), sparse_.end());
    sparse_.erase(std::unique(sparse_.begin(), sparse_.end()), sparse_.end());
    next_compaction_ = std::max<std::size_t>(std::size_t{1} << 22, 2 * sparse_.size());
  }

  std::vector<bool> seen_;
  std::vector<std::int64_t> sparse_;
  std::size_t next_compaction_ = std::size_t{1} << 22;
  std::vector<std::int64_t> ids_;
  std::vector<NodeId> direct_;
  std::unordered_map<std::string, NodeId> by_word_;
  std::vector<std::string> names_;
  std::int64_t identity_ = -1;
};

/// One edge of a line, as text.
struct EdgeText {
  std::string_view u;
  std::string_view v;
  std::string_view weight;
  int fields = 0;
};

EdgeText split_edge(char separator, std::string_view line) {
  EdgeText edge;
  std::string_view rest = line;
  std::string_view field;
  for (; edge.fields < 4 && next_field(separator, &rest, &field); ++edge.fields) {
    if (edge.fields == 0) edge.u = field;
    if (edge.fields == 1) edge.v = field;
    if (edge.fields == 2) edge.weight = field;
  }
  return edge;
}

bool is_comment(std::string_view line) {
  const std::string_view text = trim(line);
  return text.empty() || text[0] == '#' || text[0] == '%';
}

/// What the first edges say about a file.
struct EdgeLayout {
  char separator = ' ';
  bool header = false;
  bool words = false;
  bool weighted = false;
};

bool usual_heading(const EdgeText& edge) {
  static const std::set<std::string> kNames = {"src",    "source",  "from", "u",     "id1",  "id_1", "node1",
                                               "node_1", "node_id", "head", "start", "user", "item"};
  std::string name(edge.u);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kNames.contains(name);
}

EdgeLayout scan_layout(const std::filesystem::path& path, bool ignore_weights) {
  EdgeLayout layout;
  LineReader lines(path);
  std::string_view line;
  std::vector<std::string> first;
  while (first.size() < 2 && lines.next(&line)) {
    if (looks_binary(line)) fail(lines.where(), "expected text, found control characters", "is this an edge list?");
    if (!is_comment(line)) first.emplace_back(line);
  }
  if (first.empty()) return layout;
  layout.separator = find_separator(first[0]);
  std::int64_t id;
  double weight;
  const auto numeric = [&](const EdgeText& edge) { return parse_int(edge.u, &id) && parse_int(edge.v, &id); };
  EdgeText edge = split_edge(layout.separator, first[0]);
  if (!numeric(edge)) {
    const bool next_numeric = first.size() > 1 && numeric(split_edge(layout.separator, first[1]));
    layout.header = next_numeric || usual_heading(edge);
    if (layout.header && first.size() > 1) edge = split_edge(layout.separator, first[1]);
    layout.words = !next_numeric && (!layout.header || (first.size() > 1 && !numeric(edge)));
  }
  // Numbers hold no blanks, so tabs and blanks may mix; words may, so a tab stays the only separator.
  if (layout.separator == '\t' && !layout.words) layout.separator = ' ';
  layout.weighted = edge.fields >= 3 && !ignore_weights;
  if (layout.weighted && !parse_real(edge.weight, &weight)) {
    fail(path.string(), fmt::format("the third column should be a weight, the first one is '{}'", excerpt(edge.weight)),
         "drop it with --ignore-weights");
  }
  return layout;
}

/// Calls body(edge, lines) for every edge of the file.
template <class Body>
std::int64_t for_each_edge(const std::filesystem::path& path, const EdgeLayout& layout, const Body& body) {
  LineReader lines(path);
  std::string_view line;
  bool header = layout.header;
  std::int64_t count = 0;
  while (lines.next(&line)) {
    if (is_comment(line)) continue;
    if (header) {
      header = false;
      continue;
    }
    const EdgeText edge = split_edge(layout.separator, line);
    if (edge.fields < (layout.weighted ? 3 : 2)) {
      fail(lines.where(),
           fmt::format("expected {} fields, got {}: '{}'", layout.weighted ? "3 (from, to, weight)" : "2 (from, to)",
                       edge.fields, excerpt(line)));
    }
    body(edge, lines);
    ++count;
  }
  return count;
}

std::int64_t number_or_fail(std::string_view field, const LineReader& lines) {
  std::int64_t id;
  if (!parse_int(field, &id))
    fail(lines.where(), fmt::format("expected a whole number as node id, got '{}'", excerpt(field)));
  return id;
}

/// Adds a table's ids to the map; word ids if the edges have words.
void add_keys(const Table& table, IdMap* ids) {
  for (std::size_t r = 0; r < table.keys.size(); ++r) {
    std::int64_t id;
    if (ids->words) {
      ids->add(table.keys[r]);
    } else if (parse_int(table.keys[r], &id)) {
      ids->add(id);
    } else {
      fail(table.where,
           fmt::format("row {}: '{}' is not a node id; the edges have whole numbers", r + 1, excerpt(table.keys[r])));
    }
  }
}

/// The node of each row of a table. Errors: kBadData for a node that has two rows.
std::vector<NodeId> table_nodes(const Table& table, const IdMap& ids) {
  std::vector<NodeId> nodes(static_cast<std::size_t>(table.rows));
  std::vector<bool> taken(static_cast<std::size_t>(ids.size()), false);
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    std::int64_t id = static_cast<std::int64_t>(r);
    if (table.keyed && !ids.words) parse_int(table.keys[r], &id);
    nodes[r] = table.keyed && ids.words ? ids.find(table.keys[r]) : ids.find(id);
    if (nodes[r] < 0) fail(table.where, fmt::format("row {} belongs to no node of 0..{}", r + 1, ids.size() - 1));
    if (taken[static_cast<std::size_t>(nodes[r])])
      fail(table.where, fmt::format("row {}: node '{}' has two rows", r + 1, excerpt(table.keys[r])));
    taken[static_cast<std::size_t>(nodes[r])] = true;
  }
  return nodes;
}

graph::EdgeList read_edges(const std::filesystem::path& path, const EdgeLayout& layout, std::int64_t count,
                           const IdMap& ids) {
  const auto size = static_cast<std::size_t>(count);
  graph::EdgeList edges{Buffer<NodeId>(size), Buffer<NodeId>(size), Buffer<float>(layout.weighted ? size : 0)};
  std::size_t at = 0;
  const auto node = [&](std::string_view field, const LineReader& lines) {
    const NodeId v = layout.words ? ids.find(field) : ids.find(number_or_fail(field, lines));
    if (v < 0) {
      fail(lines.where(),
           fmt::format("node {} is outside 0..{}, the rows of the feature or label file", excerpt(field),
                       ids.size() - 1),
           "give the rows their ids: a header whose first column is `id`");
    }
    return v;
  };
  for_each_edge(path, layout, [&](const EdgeText& edge, const LineReader& lines) {
    if (at >= size) fail(lines.where(), "the file grew while it was read");
    edges.src[at] = node(edge.u, lines);
    edges.dst[at] = node(edge.v, lines);
    double weight;
    if (layout.weighted) {
      if (!parse_real(edge.weight, &weight))
        fail(lines.where(), fmt::format("expected a weight, got '{}'", excerpt(edge.weight)));
      edges.weight[at] = static_cast<float>(weight);
    }
    ++at;
  });
  return edges;
}

std::string stem_of(std::filesystem::path path) {
  if (path.extension() == ".gz") path = path.stem();
  return path.stem().string();
}

}  // namespace

Dataset read_edge_list(const std::filesystem::path& path, const LoadOptions& options) {
  Dataset out;
  out.name = stem_of(path);
  out.format = "edge-list";
  out.num_splits = 0;
  const EdgeLayout layout = scan_layout(path, options.ignore_weights);
  std::optional<Table> features;
  std::optional<Table> labels;
  if (!options.features_path.empty()) features = read_number_table(options.features_path);
  if (!options.labels_path.empty()) labels = read_text_table(options.labels_path);

  IdMap ids;
  ids.words = layout.words;
  const std::int64_t count = for_each_edge(path, layout, [&](const EdgeText& edge, const LineReader& lines) {
    for (const std::string_view field : {edge.u, edge.v}) {
      if (layout.words) {
        ids.add(field);
      } else {
        ids.add(number_or_fail(field, lines));
      }
    }
  });
  for (const auto* table : {&features, &labels}) {
    if (table->has_value()) add_keys(**table, &ids);
  }
  ids.finish(path.string());
  for (const auto* table : {&features, &labels}) {
    if (!table->has_value() || (*table)->keyed) continue;
    if (layout.words)
      fail((*table)->where, "the edges have words as ids, so each row must begin with one",
           "a header whose first column is `id`");
    ids.set_identity(checked_node_count((*table)->rows, "rows", (*table)->where));
  }
  graph::EdgeList edges = read_edges(path, layout, count, ids);
  out.graph = make_graph(std::move(edges), ids.size(), options, {}, path.string(), &out.notes);
  if (features) place_features(*features, table_nodes(*features, ids), ids.size(), &out);
  if (labels)
    out.labels = table_labels(*labels, table_nodes(*labels, ids), ids.size(), options.label_kind, &out.class_names);
  ids.describe(&out);
  return out;
}

}  // namespace gneiss::data
