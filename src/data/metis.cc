// METIS and Chaco graphs (.graph): a line `nodes edges [format [weights]]`, then one line a node with its neighbours.
//
// Nodes are numbered from 1; lines that begin with % are comments; an empty line is a node without neighbours. The
// format's digits say what stands in a line: 1 = each neighbour is followed by the edge's weight, 10 = the line begins
// with the node's weights, 100 = with its size. Weights and sizes of nodes are left out. The format is for undirected
// graphs, whose edges stand in both lines and count once; files that list each edge once and count it once (GAP's) are
// read as directed ones. Source: METIS manual 5.1, §4.1; the files of sbeamer/gapbs, which say 100 and hold no sizes.
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/readers.h"
#include "data/table.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

constexpr std::int64_t kRaggedBy = 1000;  // rows of one length until then are edges

class Parser {
 public:
  explicit Parser(const std::filesystem::path& path) : path_(path), lines_(path) { read_sizes(); }

  std::int64_t nodes() const { return nodes_; }

  /// The entries of all lines. A size before each node's neighbours is believed only if the entries then are as many
  /// as the first line says.
  graph::EdgeList parse(std::vector<std::string>* notes) {
    std::vector<std::vector<std::int64_t>> rows;
    std::int64_t numbers = 0;
    std::string_view line;
    while (lines_.next(&line)) {
      if (trim(line).starts_with('%')) continue;
      if (static_cast<std::int64_t>(rows.size()) == nodes_) {
        if (!trim(line).empty())
          fail(fmt::format("all {} nodes have had their line, but '{}' follows", nodes_, excerpt(line)));
        continue;
      }
      rows.push_back(read_numbers(line));
      row_lines_.push_back(lines_.line());
      numbers += static_cast<std::int64_t>(rows.back().size());
    }
    // Empty lines at the end may have been lost on the way, but then the count of edges has to be the usual one.
    const bool complete = static_cast<std::int64_t>(rows.size()) == nodes_;
    rows.resize(static_cast<std::size_t>(nodes_));
    row_lines_.resize(static_cast<std::size_t>(nodes_), lines_.line());
    const std::int64_t step = edge_weights_ ? 2 : 1;
    std::int64_t front = node_weights_ + (sizes_ ? 1 : 0);
    const auto fits = [&](std::int64_t entries) { return entries == 2 * edges_ * step || entries == edges_ * step; };
    if (sizes_ && !fits(numbers - front * nodes_) && fits(numbers - node_weights_ * nodes_)) {
      notes->emplace_back("the format says that nodes have sizes, but the lines hold none");
      front = node_weights_;
    }
    if (front > 0) notes->emplace_back("weights and sizes of nodes are left out");
    return to_edges(rows, static_cast<std::size_t>(front), static_cast<std::size_t>(step), numbers - front * nodes_,
                    complete);
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const {
    throw Error(ErrorCode::kBadData, message, lines_.where(), hint);
  }
  [[noreturn]] void fail_at(std::size_t row, const std::string& message) const {
    throw Error(ErrorCode::kBadData, message, fmt::format("{}:{}", path_.string(), row_lines_[row]));
  }

  std::vector<std::int64_t> read_numbers(std::string_view line) const {
    std::vector<std::int64_t> numbers;
    std::string_view field;
    while (next_field(' ', &line, &field)) {
      std::int64_t number;
      if (!parse_whole(field, &number)) fail(fmt::format("expected a whole number, got '{}'", excerpt(field)));
      numbers.push_back(number);
    }
    return numbers;
  }

  void read_sizes() {
    std::string_view line;
    do {
      if (!lines_.next(&line)) fail("the file ends before the line of nodes and edges");
    } while (trim(line).empty() || trim(line).starts_with('%'));
    std::string_view rest = line;
    std::string_view field;
    std::vector<std::string> fields;
    while (next_field(' ', &rest, &field)) fields.emplace_back(field);
    const bool good = fields.size() >= 2 && fields.size() <= 4 && parse_int(fields[0], &nodes_) &&
                      parse_int(fields[1], &edges_) && nodes_ >= 0 && edges_ >= 0;
    if (!good)
      fail(fmt::format("expected `nodes edges [format [weights]]`, got '{}'", excerpt(line)), "is this a METIS graph?");
    checked_node_count(nodes_, "nodes", lines_.where());
    // A node takes a line, though the empty ones at the end may be missing; edges take two bytes and more.
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path_)) * (lines_.packed() ? 1032 : 1);
    if (nodes_ > bytes + 1 || edges_ > bytes)
      fail(fmt::format("{} nodes and {} edges cannot be in a file of {} bytes", nodes_, edges_, bytes));
    if (fields.size() == 2) return;
    const std::string& format = fields[2];
    if (format.empty() || format.size() > 3 || format.find_first_not_of("01") != std::string::npos)
      fail(fmt::format("expected a format such as 0, 1, 10, 11 or 100, got '{}'", excerpt(format)));
    edge_weights_ = format.back() == '1';
    node_weights_ = format.size() >= 2 && format[format.size() - 2] == '1' ? 1 : 0;
    sizes_ = format.size() == 3 && format[0] == '1';
    std::int64_t count = 0;
    if (fields.size() < 4) return;
    if (!parse_int(fields[3], &count) || count < 0 || count > 1000)
      fail(fmt::format("expected a number of weights, got '{}'", excerpt(fields[3])));
    if (node_weights_ > 0) node_weights_ = count;
  }

  graph::EdgeList to_edges(const std::vector<std::vector<std::int64_t>>& rows, std::size_t front, std::size_t step,
                           std::int64_t entries, bool complete) const {
    const std::int64_t found = entries / static_cast<std::int64_t>(step);
    if (found != 2 * edges_ && !(found == edges_ && complete))
      fail(fmt::format("the first line says {} edges, so {} neighbours are due; {} are there", edges_, 2 * edges_,
                       found),
           "is the file cut off, or is this no METIS graph?");
    const auto size = static_cast<std::size_t>(found);
    graph::EdgeList edges{Buffer<NodeId>(size), Buffer<NodeId>(size), Buffer<float>(edge_weights_ ? size : 0)};
    std::size_t at = 0;
    for (std::size_t v = 0; v < rows.size(); ++v) {
      const std::vector<std::int64_t>& row = rows[v];
      if (row.size() < front || (row.size() - front) % step != 0)
        fail_at(v, fmt::format("node {} has {} numbers; expected {} in front and {} for each neighbour", v + 1,
                               row.size(), front, step));
      for (std::size_t i = front; i < row.size(); i += step, ++at) {
        if (row[i] < 1 || row[i] > nodes_)
          fail_at(v, fmt::format("neighbour {} of node {} is outside 1..{}", row[i], v + 1, nodes_));
        edges.src[at] = static_cast<NodeId>(v);
        edges.dst[at] = static_cast<NodeId>(row[i] - 1);
        if (edge_weights_) edges.weight[at] = static_cast<float>(row[i + 1]);
      }
    }
    return edges;
  }

  std::filesystem::path path_;
  LineReader lines_;
  std::int64_t nodes_ = 0;
  std::int64_t edges_ = 0;
  std::int64_t node_weights_ = 0;  ///< in front of each node's neighbours
  bool sizes_ = false;
  bool edge_weights_ = false;
  std::vector<std::int64_t> row_lines_;
};

}  // namespace

bool looks_like_metis(const std::filesystem::path& path) {
  LineReader lines(path);
  std::string_view line;
  std::int64_t nodes = -1;
  std::int64_t edges = 0;
  std::int64_t numbers = 0;
  std::int64_t rows = 0;
  bool ragged = false;
  std::int64_t length = -1;
  while (lines.next(&line)) {
    if (trim(line).starts_with('%')) continue;
    if (trim(line).empty() && nodes < 0) continue;
    std::int64_t first[2] = {0, 0};
    std::int64_t count = 0;
    std::string_view rest = line;
    std::string_view field;
    while (next_field(' ', &rest, &field)) {
      std::int64_t number;
      if (!parse_int(field, &number)) return false;
      if (count < 2) first[count] = number;
      ++count;
    }
    if (nodes < 0) {
      if (count < 2 || count > 4) return false;
      nodes = first[0];
      edges = first[1];
      if (nodes <= 0 || edges <= 0) return false;
      continue;
    }
    ++rows;
    numbers += count;
    ragged = ragged || (length >= 0 && count != length);
    length = count;
    if ((rows > nodes && count > 0) || (rows == kRaggedBy && !ragged)) return false;
  }
  return nodes > 0 && ragged && rows >= nodes && numbers >= edges;
}

Dataset read_metis(const std::filesystem::path& path, const LoadOptions& options) {
  Dataset out;
  out.name = stem_of(path);
  out.format = "metis";
  out.num_splits = 0;
  Parser parser(path);
  graph::EdgeList edges = parser.parse(&out.notes);
  out.graph = make_graph(std::move(edges), parser.nodes(), options, {}, path.string(), &out.notes);
  attach_tables(options, parser.nodes(), &out);
  return out;
}

}  // namespace gneiss::data
