// Edge lists as text: SNAP, KONECT, CSV and TSV; plain or gzip.
//
// Which columns are what, edge_columns.h decides from the first rows (table_head.h). Ids are any 64-bit integers or,
// when those of the first rows are not, any words; they are renumbered (integers by value, words by first appearance)
// and kept as orig_id or node_names. The file is read twice: once for ids and counts, once for edges, so that memory is
// that of the result and one table of ids. Feature and label files: see table.h. When their rows carry ids, nodes are
// the union of all ids; otherwise row r is node r and ids must lie in 0..rows-1.
#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "data/edge_columns.h"
#include "data/foreign_text.h"
#include "data/id_map.h"
#include "data/labels.h"
#include "data/readers.h"
#include "data/row_reader.h"
#include "data/table.h"
#include "data/table_head.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

/// An edge list with what its first rows say.
struct EdgeFile {
  std::filesystem::path path;
  TableHead head;
  EdgeColumns columns;
};

/// Files put one behind the other have their headers within, which would be an edge of words.
void check_header(const EdgeFile& file, const RowReader& rows) {
  const auto fields = rows.fields();
  const auto same = [&](std::size_t column) { return fields[column] == file.head.names[column]; };
  if (same(file.columns.source) && same(file.columns.target))
    fail(rows.where(), "the header stands here again", "were two files put together? Delete the line");
}

/// Calls body(rows) for every edge of the file; the fields of the row are then rows.fields(). Returns their number.
template <class Body>
std::int64_t for_each_edge(const EdgeFile& file, RowReader* rows, const Body& body) {
  if (file.head.attributes) rows->cut_attributes();
  rows->expect(file.head.columns, file.head.trailing);
  if (file.head.header) rows->skip_row();
  std::int64_t count = 0;
  const bool named = file.head.header && file.columns.words;
  while (rows->next()) {
    if (named) check_header(file, *rows);
    body(*rows);
    ++count;
  }
  return count;
}

[[noreturn]] void fail_number(std::string_view field, const std::string& where) {
  std::string hint = "the first ids are numbers, so all must be; --header if the first row names columns";
  if (field_type(field) == FieldType::kReal)
    hint = "--source-column and --target-column say which columns hold the ids";
  fail(where, fmt::format("expected a whole number as node id, got '{}'", excerpt(field)), hint);
}

/// A node id: 12, 12.0 or 1.2e1.
std::int64_t number_or_fail(std::string_view field, char decimal, const RowReader& rows) {
  std::int64_t id;
  if (parse_int(field, &id)) return id;
  if (decimal == ',') {
    std::string pointed(field);
    std::replace(pointed.begin(), pointed.end(), ',', '.');
    if (parse_whole(pointed, &id)) return id;
  } else if (parse_whole(field, &id)) {
    return id;
  }
  fail_number(field, rows.where());
}

/// The rows of a comment character among words are edges that would be lost.
void check_late_comment(const EdgeFile& file, const RowReader& rows) {
  if (!file.columns.words || rows.late_comment_line() == 0) return;
  FieldSplitter splitter(file.head.separator);
  const bool whole = splitter.split(rows.late_comment()) == FieldSplitter::Result::kDone;
  if (!whole || splitter.fields().size() != file.head.columns) return;
  fail(fmt::format("{}:{}", file.path.string(), rows.late_comment_line()),
       fmt::format("is '{}' a comment or an edge? It is as long as the other rows", excerpt(rows.late_comment())),
       "delete it, or put the name that begins with # or % in quotes");
}

/// What the ids of the first edge and the others are like.
struct FirstEdge {
  std::int64_t u = 0;
  std::int64_t v = 0;
  std::int64_t largest_other = -1;
};

/// A first row that gives the numbers of nodes and edges, as many programs write it.
void refuse_size_line(const EdgeFile& file, const FirstEdge& first, std::int64_t count) {
  const bool sizes = count >= 3 && first.v == count - 1 && first.largest_other >= 0 &&
                     (first.u == first.largest_other || first.u == first.largest_other + 1);
  if (!sizes || file.head.columns != 2 || file.head.header) return;
  if (!file.head.comments.empty()) return;
  fail(
      file.head.where_row(0),
      fmt::format("is '{} {}' an edge, or the numbers of nodes and edges? {} rows follow", first.u, first.v, count - 1),
      "delete the line; if it is an edge, move it to another place");
}

/// "007": a number that is also written without its zeros.
bool has_leading_zero(std::string_view id) { return id.size() > 1 && id[0] == '0' && id[1] >= '0' && id[1] <= '9'; }

/// 007 is 7, but not beside 7 or 07: whoever writes zeros means text, and two nodes would become one.
void check_leading_zeros(const EdgeFile& file) {
  std::unordered_map<std::int64_t, std::string> spellings;
  const auto each = [&](const auto& body) {
    RowReader rows(file.path, file.head.separator);
    for_each_edge(file, &rows, [&](const RowReader& row) {
      for (const std::size_t column : {file.columns.source, file.columns.target}) body(row, row.fields()[column]);
    });
  };
  each([&](const RowReader&, std::string_view id) {
    std::int64_t number;
    if (has_leading_zero(id) && parse_int(id, &number)) spellings.try_emplace(number, id);
  });
  each([&](const RowReader& row, std::string_view id) {
    std::int64_t number;
    const auto found = parse_int(id, &number) ? spellings.find(number) : spellings.end();
    if (found != spellings.end() && found->second != id)
      fail(row.where(), fmt::format("'{}' here and '{}' elsewhere would be one node, {}", id, found->second, number),
           "write each id in one way; if they are two nodes, give each a letter, such as n007");
  });
}

/// First pass: ids and the number of edges.
std::int64_t collect_ids(const EdgeFile& file, IdMap* ids) {
  RowReader rows(file.path, file.head.separator);
  const std::size_t source = file.columns.source;
  const std::size_t target = file.columns.target;
  const char decimal = file.head.decimal;
  std::int64_t count = 0;
  if (ids->words) {
    count = for_each_edge(file, &rows, [&](const RowReader& row) {
      for (const std::size_t column : {source, target}) {
        const std::string_view word = row.fields()[column];
        if (!ids->add(word)) continue;
        if (const std::string odd = odd_word(word); !odd.empty())
          fail(row.where(), fmt::format("the node id '{}' {}", excerpt(word), odd), "ids are numbers or plain words");
      }
    });
  } else {
    FirstEdge first;
    bool begun = false;
    bool zeros = false;
    count = for_each_edge(file, &rows, [&](const RowReader& row) {
      const std::int64_t u = number_or_fail(row.fields()[source], decimal, row);
      const std::int64_t v = number_or_fail(row.fields()[target], decimal, row);
      zeros = zeros || has_leading_zero(row.fields()[source]) || has_leading_zero(row.fields()[target]);
      ids->add(u);
      ids->add(v);
      if (begun) {
        first.largest_other = std::max(first.largest_other, std::max(u, v));
      } else {
        first.u = u;
        first.v = v;
        begun = true;
      }
    });
    refuse_size_line(file, first, count);
    if (zeros) check_leading_zeros(file);
  }
  check_late_comment(file, rows);
  return count;
}

/// The weight in NetworkX's attributes, such as {'weight': 0.5, 'since': 3}; false if there is none.
bool attribute_weight(std::string_view attributes, double* weight) {
  for (const char quote : {'\'', '"'}) {
    const std::string key = fmt::format("{0}weight{0}", quote);
    const std::size_t at = attributes.find(key);
    if (at == std::string_view::npos) continue;
    std::string_view rest = trim(attributes.substr(at + key.size()));
    if (!rest.starts_with(':')) return false;
    rest = rest.substr(1, rest.find_first_of(",}") - 1);
    return parse_real(trim(rest), weight);
  }
  return false;
}

/// A header that is not known as one would be a node of its own: the first id of a table without a header occurs in no
/// edge, though it is a word and the next one occurs.
void check_first_key(const Table& table, const IdMap& ids) {
  if (!ids.words || !table.bare_pairs || table.keys.size() < 2) return;
  if (ids.find(std::string_view(table.keys[0])) >= 0 || ids.find(std::string_view(table.keys[1])) < 0) return;
  fail(table.where_row(0), fmt::format("is this row a header? '{}' is no node of the edges", excerpt(table.keys[0])),
       "name the columns id and label, or delete the row if it names columns; if it is a node, move it further down");
}

/// A table whose ids are none of the edges' belongs to another graph, or spells them in another way.
void check_keys(const Table& table, IdMap& ids, std::vector<std::string>* doubts) {
  if (!table.keyed || ids.empty()) return;
  std::int64_t known = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::string& key : table.keys) {
    std::int64_t id = 0;
    if (!ids.words && !parse_whole(key, &id)) return;  // an error later
    known += ids.words ? ids.has(std::string_view(key)) : ids.has(id);
    least = std::min(least, id);
  }
  const std::string example = table.keys.empty() ? std::string() : excerpt(table.keys[0]);
  if (known == 0 && !table.keys.empty())
    fail(table.where_row(0), fmt::format("none of the ids of this table, such as '{}', occurs in the edges", example),
         "are they spelled alike, in capitals and small letters? --id-column says which column holds them");
  const auto range = ids.range();
  const bool shifted = !ids.words && range.first + 1 == least && known + 1 == table.rows;
  if (shifted)
    doubts->push_back(fmt::format("{}: its ids begin at {}, those of the edges at {}: is one of them counted from 1?",
                                  table.where, least, range.first));
}

/// Adds a table's ids to the map; word ids if the edges have words.
void add_keys(const Table& table, IdMap* ids) {
  for (std::size_t r = 0; r < table.keys.size(); ++r) {
    std::int64_t id;
    if (ids->words) {
      ids->add(std::string_view(table.keys[r]));
    } else if (parse_whole(table.keys[r], &id)) {
      ids->add(id);
    } else {
      fail(table.where_row(r),
           fmt::format("'{}' is not a node id; the edges have whole numbers", excerpt(table.keys[r])));
    }
  }
}

/// The node of each row of a table. Errors: kBadData for a node that has two rows.
std::vector<NodeId> table_nodes(const Table& table, const IdMap& ids) {
  std::vector<NodeId> nodes(static_cast<std::size_t>(table.rows));
  std::vector<bool> taken(static_cast<std::size_t>(ids.size()), false);
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    std::int64_t id = static_cast<std::int64_t>(r);
    if (table.keyed && !ids.words) parse_whole(table.keys[r], &id);
    nodes[r] = table.keyed && ids.words ? ids.find(std::string_view(table.keys[r])) : ids.find(id);
    if (nodes[r] < 0)
      fail(table.where_row(r), fmt::format("row {} belongs to no node of 0..{}", r + 1, ids.size() - 1));
    if (taken[static_cast<std::size_t>(nodes[r])])
      fail(table.where_row(r), fmt::format("row {}: node '{}' has two rows", r + 1, excerpt(table.keys[r])),
           table.two_rows_hint());
    taken[static_cast<std::size_t>(nodes[r])] = true;
  }
  return nodes;
}

graph::EdgeList read_edges(const EdgeFile& file, std::int64_t count, const IdMap& ids) {
  const auto size = static_cast<std::size_t>(count);
  const bool weighted = file.columns.weight != kNoColumn || file.columns.attribute_weights;
  graph::EdgeList edges{Buffer<NodeId>(size), Buffer<NodeId>(size), Buffer<float>(weighted ? size : 0)};
  const char decimal = file.head.decimal;
  std::size_t at = 0;
  const auto node = [&](std::string_view field, const RowReader& rows) {
    const NodeId v = file.columns.words ? ids.find(field) : ids.find(number_or_fail(field, decimal, rows));
    if (v < 0) {
      fail(rows.where(),
           fmt::format("node {} is outside 0..{}, the rows of the feature or label file", excerpt(field),
                       ids.size() - 1),
           "give the rows their ids: a column named `id`");
    }
    return v;
  };
  RowReader rows(file.path, file.head.separator);
  for_each_edge(file, &rows, [&](const RowReader& row) {
    if (at >= size) fail(row.where(), "the file grew while it was read");
    const auto fields = row.fields();
    edges.src[at] = node(fields[file.columns.source], row);
    edges.dst[at] = node(fields[file.columns.target], row);
    if (weighted) {
      double weight = 0;
      const bool good = file.columns.attribute_weights ? attribute_weight(row.tail(), &weight)
                                                       : parse_number(fields[file.columns.weight], decimal, &weight);
      if (!good)
        fail(row.where(),
             fmt::format("expected a weight, got '{}'",
                         excerpt(file.columns.attribute_weights ? row.tail() : fields[file.columns.weight])),
             "mend the row, or leave the weights out with --ignore-weights");
      edges.weight[at] = static_cast<float>(weight);
    }
    ++at;
  });
  return edges;
}

/// A first row 0,1 that pandas writes over columns without names would be an edge too many: one that stands there
/// again, or the only one of the graph without its reverse.
bool counted_header(const EdgeFile& file, const graph::Graph& graph, NodeId u, NodeId v) {
  constexpr EdgeId kMost = 5'000'000;
  const auto& first = file.head.rows[0];
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (first[c] != std::to_string(c)) return false;
  }
  if (graph.num_edges() > kMost || graph.symmetric()) return false;
  const auto in_edges = [&](NodeId x) {
    const auto begin = graph.offsets()[static_cast<std::size_t>(x)];
    const auto end = graph.offsets()[static_cast<std::size_t>(x) + 1];
    return graph.sources().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  };
  const auto count = [&](NodeId from, NodeId to) {
    const auto sources = in_edges(to);
    return std::count(sources.begin(), sources.end(), from);
  };
  if (count(u, v) > 1) return true;
  for (NodeId x = 0; x < graph.num_nodes(); ++x) {
    for (const NodeId from : in_edges(x)) {
      const auto back = in_edges(from);
      const bool reverse = std::binary_search(back.begin(), back.end(), x);
      if (!reverse && (from != u || x != v)) return false;
    }
  }
  return true;
}

/// What is suspicious about the graph as a whole.
void doubt_edges(const EdgeFile& file, std::int64_t count, IdMap* ids, const LoadOptions& options, Dataset* out) {
  if (file.columns.undirected && !options.to_undirected.has_value())
    out->doubts.push_back(
        fmt::format("{}: the file calls the graph undirected; its edges are read in one direction, as they "
                    "stand: --to-undirected adds the others",
                    file.head.where));
  const graph::Graph& graph = out->graph;
  if (count < 4 || file.head.header || file.head.rows.empty() || graph.num_nodes() < 5) return;
  // The two nodes of a first row that nothing else connects may be a header.
  const auto node = [&](std::size_t column) {
    const std::string& field = file.head.rows[0][column];
    std::int64_t id = -1;
    if (!file.columns.words) parse_whole(field, &id);
    return file.columns.words ? ids->find(std::string_view(field)) : ids->find(id);
  };
  const NodeId u = node(file.columns.source);
  const NodeId v = node(file.columns.target);
  if (u < 0 || v < 0 || u == v) return;
  if (!options.tables.header.has_value() && counted_header(file, graph, u, v)) {
    out->doubts.push_back(fmt::format(
        "{}: is the first row, '{}', a header as pandas writes it for columns without names? --header leaves "
        "it out, --no-header says that it is an edge",
        file.head.where, join(file.head.rows[0], " ")));
    return;
  }
  const auto offsets = graph.offsets();
  const auto degree = [&](NodeId x) {
    return offsets[static_cast<std::size_t>(x) + 1] - offsets[static_cast<std::size_t>(x)];
  };
  const auto as_source = [&](NodeId x) { return std::count(graph.sources().begin(), graph.sources().end(), x); };
  const bool alone = options.to_undirected.value_or(false)
                         ? degree(u) == 1 && degree(v) == 1
                         : degree(u) == 0 && degree(v) == 1 && as_source(u) == 1 && as_source(v) == 0;
  if (alone)
    out->doubts.push_back(
        fmt::format("{}: the nodes of the first row, '{}' and '{}', have no other edge; --header if it names columns",
                    file.head.where, excerpt(file.head.rows[0][file.columns.source]),
                    excerpt(file.head.rows[0][file.columns.target])));
}

/// True if some row of the table has a word as its id.
bool has_words(const std::optional<Table>& table) {
  std::int64_t id;
  return table && std::any_of(table->keys.begin(), table->keys.end(),
                              [&](const std::string& key) { return !parse_whole(key, &id); });
}

/// Rows without ids belong to the nodes 0, 1, 2, … in their order.
void number_by_rows(const std::optional<Table>& table, const std::string& edges, IdMap* ids) {
  if (!table || table->keyed) return;
  if (ids->words)
    fail(table->where, "the edges have words as ids, so each row must begin with one",
         "give the table a header with a column named `id`, or say --id-column");
  const std::int64_t rows = checked_node_count(table->rows, "rows", table->where);
  if (ids->identity() >= 0 && ids->identity() != rows) {
    fail(table->where,
         fmt::format("{} rows, but the other table has {}; both have a row a node", rows, ids->identity()),
         "is the first row of one of them a header? See " + edges);
  }
  ids->set_identity(rows);
}

}  // namespace

Dataset read_edge_list(const std::filesystem::path& path, const LoadOptions& options) {
  Dataset out;
  out.name = stem_of(path);
  out.format = "edge-list";
  out.num_splits = 0;
  EdgeFile file{path, read_head(path, TableKind::kEdges, options.tables), {}};
  if (file.head.columns > 0) file.columns = choose_edge_columns(file.head, options);
  TableOptions companions = options.tables;
  companions.header = {};
  std::optional<Table> features;
  std::optional<Table> labels;
  if (!options.features_path.empty()) features = read_number_table(options.features_path, companions);
  if (!options.labels_path.empty()) labels = read_text_table(options.labels_path, companions);

  IdMap ids;
  // Without edges the ids are what those of the tables are.
  ids.words = file.columns.words || (file.head.rows.empty() && (has_words(features) || has_words(labels)));
  const std::int64_t count = file.head.columns > 0 ? collect_ids(file, &ids) : 0;
  if (count == 0 && !features && !labels)
    fail(path.string(), "the file holds no edge", "one edge a line: from, to, weight; lines with # or % are comments");
  const auto range = ids.range();
  for (auto* table : {&features, &labels}) {
    if (!table->has_value()) continue;
    const std::int64_t feature_rows = features && !features->keyed ? features->rows - 1 : -1;
    (*table)->settle(ids.words, range.first, std::max(range.second, feature_rows));
    const auto& other = table == &labels ? features : labels;
    const bool agreed = other && !other->keyed && !other->counted_first && other->rows == (*table)->rows;
    if (!ids.words && !agreed) (*table)->check_first_row(range.second);
    check_first_key(**table, ids);
  }
  for (const auto* table : {&features, &labels}) {
    if (table->has_value()) check_keys(**table, ids, &out.doubts);
  }
  for (const auto* table : {&features, &labels}) {
    if (table->has_value()) add_keys(**table, &ids);
  }
  ids.finish(path.string());
  for (const auto* table : {&features, &labels}) number_by_rows(*table, path.string(), &ids);
  graph::EdgeList edges = count > 0 ? read_edges(file, count, ids) : graph::EdgeList{};
  out.graph = make_graph(std::move(edges), ids.size(), options, {}, path.string(), &out.notes);
  out.notes.insert(out.notes.begin(), fmt::format("{}: {}", path.filename().string(), file.columns.text));
  out.doubts.insert(out.doubts.begin(), file.columns.doubts.begin(), file.columns.doubts.end());
  for (const auto* table : {&features, &labels}) {
    if (!table->has_value()) continue;
    if (!(*table)->understood.empty()) out.notes.push_back((*table)->note());
    out.doubts.insert(out.doubts.end(), (*table)->doubts.begin(), (*table)->doubts.end());
  }
  if (features) place_features(*features, table_nodes(*features, ids), ids.size(), &out);
  if (labels) out.labels = table_labels(*labels, table_nodes(*labels, ids), ids.size(), options.label_kind, &out);
  doubt_edges(file, count, &ids, options, &out);
  ids.describe(&out);
  return out;
}

}  // namespace gneiss::data
