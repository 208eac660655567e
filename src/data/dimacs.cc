// DIMACS text: `p sp nodes arcs` with `a from to weight` (shortest paths, .gr), or `p edge nodes edges` with `e u v`
// (colouring, .col), which is undirected and holds each edge once.
//
// Nodes are numbered from 1; lines that begin with c are comments. Source: DIMACS implementation challenges 2, 9.
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/readers.h"
#include "data/table.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

class Parser {
 public:
  explicit Parser(const std::filesystem::path& path) : path_(path), lines_(path) {}

  graph::EdgeList parse() {
    std::string_view line;
    while (lines_.next(&line)) {
      const std::string_view text = trim(line);
      if (text.empty() || text[0] == 'c') continue;
      std::vector<std::string_view> fields;
      std::string_view rest = text;
      std::string_view field;
      while (fields.size() < 5 && next_field(' ', &rest, &field)) fields.push_back(field);
      if (fields[0] == "p") {
        problem(fields);
      } else if (fields[0] == (arcs_ ? "a" : "e")) {
        edge(fields);
      } else if (fields[0] != "n" && fields[0] != "d" && fields[0] != "v" && fields[0] != "x") {
        fail(fmt::format("expected a line that begins with c, p or {}, got '{}'", arcs_ ? "a" : "e", excerpt(text)));
      }
    }
    if (nodes_ < 0) fail("there is no line `p sp nodes arcs` or `p edge nodes edges`");
    const auto found = static_cast<std::int64_t>(from_.size());
    // Colouring files often count both directions of the edges that they hold once.
    if (found != count_ && (arcs_ || 2 * found != count_))
      fail(fmt::format("the line p says {} {}, {} are there", count_, arcs_ ? "arcs" : "edges", found),
           "is the file cut off?");
    return {Buffer<NodeId>::copy_of(from_), Buffer<NodeId>::copy_of(to_), Buffer<float>::copy_of(weight_)};
  }

  std::int64_t nodes() const { return nodes_; }
  bool arcs() const { return arcs_; }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const {
    throw Error(ErrorCode::kBadData, message, lines_.where(), hint);
  }

  void problem(const std::vector<std::string_view>& fields) {
    if (nodes_ >= 0) fail("a second line p");
    const bool good = fields.size() == 4 && parse_int(fields[2], &nodes_) && parse_int(fields[3], &count_) &&
                      nodes_ >= 0 && count_ >= 0;
    if (!good) fail("expected `p sp nodes arcs` or `p edge nodes edges`");
    arcs_ = fields[1] == "sp";
    if (!arcs_ && fields[1] != "edge" && fields[1] != "edges" && fields[1] != "col")
      fail(fmt::format("the problem '{}' is not read", excerpt(fields[1])),
           "known: sp (shortest paths), edge and col (colouring)");
    checked_node_count(nodes_, "nodes", lines_.where());
  }

  NodeId node(std::string_view field) const {
    std::int64_t id;
    if (!parse_int(field, &id) || id < 1 || id > nodes_)
      fail(fmt::format("expected a node of 1..{}, got '{}'", nodes_, excerpt(field)));
    return static_cast<NodeId>(id - 1);
  }

  void edge(const std::vector<std::string_view>& fields) {
    if (nodes_ < 0) fail("an edge stands before the line p");
    if (fields.size() != (arcs_ ? 4U : 3U)) fail(fmt::format("expected `{}`", arcs_ ? "a from to weight" : "e u v"));
    from_.push_back(node(fields[1]));
    to_.push_back(node(fields[2]));
    if (!arcs_) return;
    double weight;
    if (!parse_real(fields[3], &weight)) fail(fmt::format("expected a weight, got '{}'", excerpt(fields[3])));
    weight_.push_back(static_cast<float>(weight));
  }

  std::filesystem::path path_;
  LineReader lines_;
  std::int64_t nodes_ = -1;
  std::int64_t count_ = 0;
  bool arcs_ = true;
  std::vector<NodeId> from_;
  std::vector<NodeId> to_;
  std::vector<float> weight_;
};

}  // namespace

bool looks_like_dimacs(std::string_view text) {
  bool problem = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line == "c" || line.starts_with("c ")) continue;
    if (line.starts_with("p sp ") || line.starts_with("p edge ") || line.starts_with("p col ")) {
      problem = true;
      break;
    }
    return false;
  }
  return problem;
}

Dataset read_dimacs(const std::filesystem::path& path, const LoadOptions& options) {
  Dataset out;
  out.name = stem_of(path);
  out.format = "dimacs";
  out.num_splits = 0;
  Parser parser(path);
  graph::EdgeList edges = parser.parse();
  out.graph = make_graph(std::move(edges), parser.nodes(), options, {}, path.string(), &out.notes);
  if (!parser.arcs() && !options.to_undirected.has_value())
    out.doubts.emplace_back(
        "the graph is undirected and holds each edge once: --to-undirected adds the other direction");
  attach_tables(options, parser.nodes(), &out);
  return out;
}

}  // namespace gneiss::data
