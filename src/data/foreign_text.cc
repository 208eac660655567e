// Text that is plainly another format is told by its first lines, before anyone takes it for a list of edges.
#include "data/foreign_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "data/text.h"

namespace gneiss::data {
namespace {

constexpr std::string_view kWriteEdges = "write one edge a line: from, to, weight";
constexpr std::string_view kNetworkX = "in NetworkX: read it there and nx.write_edgelist(G, 'edges.txt', data=False)";

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// What the first word of a format's first line is.
struct Opening {
  std::string_view start;  ///< in lower case
  std::string_view format;
  std::string_view remedy;
};
constexpr std::array kOpenings = {
    Opening{"<?xml", "XML (GraphML, GEXF)", kNetworkX},
    Opening{"<graphml", "GraphML", kNetworkX},
    Opening{"<gexf", "GEXF", kNetworkX},
    Opening{"<http", "RDF (N-Triples)", kWriteEdges},
    Opening{"@prefix", "RDF (Turtle)", kWriteEdges},
    Opening{"creator", "GML", kNetworkX},
    Opening{"graph [", "GML", kNetworkX},
    Opening{"graph[", "GML", kNetworkX},
    Opening{"digraph", "DOT (Graphviz)", kNetworkX},
    Opening{"strict graph", "DOT (Graphviz)", kNetworkX},
    Opening{"strict digraph", "DOT (Graphviz)", kNetworkX},
    Opening{"graph {", "DOT (Graphviz)", kNetworkX},
    Opening{"graph{", "DOT (Graphviz)", kNetworkX},
    Opening{"*vertices", "Pajek", kNetworkX},
    Opening{"*network", "Pajek", kNetworkX},
    Opening{"nodedef>", "GDF (GUESS)", "in Gephi: export the edges table as CSV"},
    Opening{"dl n", "UCINET DL", kWriteEdges},
    Opening{"<", "XML or HTML", "was a web page downloaded instead of the file?"},
};

bool is_arrow(std::string_view field) {
  static const std::set<std::string_view> kArrows = {"->", "-->", "<-", "--", "<->", "=>", "<--"};
  return kArrows.contains(field);
}

std::optional<ForeignText> bracketed(std::string_view line) {
  if (line[0] == '(')
    return ForeignText{"Python tuples", "write them with: for u, v in edges: f.write(f\"{u},{v}\\n\")"};
  if (line[0] != '{' && line[0] != '[') return std::nullopt;
  const std::size_t next = line.find_first_not_of(" \t", 1);
  const bool python = next != std::string_view::npos && (line[next] == '(' || line[next] == '\'');
  return ForeignText{python ? "a Python list or dict" : "JSON", std::string(kWriteEdges)};
}

bool is_number(std::string_view field) {
  std::int64_t value;
  return parse_whole(field, &value);
}

}  // namespace

std::optional<ForeignText> foreign_text(const std::vector<std::string>& lines) {
  bool first = true;
  bool dimacs_problem = false;
  std::set<std::string> commented;
  std::set<std::string> starts;
  bool names_follow_rows = false;
  for (const std::string& raw : lines) {
    const std::string_view line = trim(raw);
    if (line.empty()) continue;
    if (line[0] == '#' || line[0] == '%') {
      const std::string_view word = trim(line.substr(1));
      if (!line.starts_with("# ") || word.empty() || word.find_first_of(" \t") != std::string_view::npos) continue;
      commented.emplace(word);
      names_follow_rows = names_follow_rows || !starts.empty();
      continue;
    }
    if (first) {
      if (const auto found = bracketed(line); found.has_value()) return ForeignText{found->format, found->remedy};
      const std::string start = lower(line.substr(0, 32));
      for (const Opening& opening : kOpenings) {
        if (start.starts_with(opening.start) &&
            !(opening.start == "creator" && line.find_first_of(",;\t") != std::string_view::npos))
          return ForeignText{std::string(opening.format), std::string(opening.remedy)};
      }
      if (line == "graph") return ForeignText{"GML", std::string(kNetworkX)};
    }
    first = false;
    if (line.starts_with("p ")) dimacs_problem = true;
    const bool arc = line.starts_with("a ") || line.starts_with("e ");
    if (dimacs_problem && arc) return ForeignText{"DIMACS", "--format dimacs"};
    starts.emplace(line.substr(0, line.find_first_of(" \t,;")));
    std::string_view rest = line;
    std::string_view field;
    std::string_view second;
    if (next_field(' ', &rest, &field) && next_field(' ', &rest, &second) && is_arrow(second))
      return ForeignText{"edges written with arrows",
                         "take the arrows out, or name the columns: --source-column 1 --target-column 3"};
    if (line.find_first_of(" \t,;") == std::string_view::npos && line.find("->") != std::string_view::npos)
      return ForeignText{"edges written with arrows", "write a comma instead of each arrow"};
  }
  const bool lgl = names_follow_rows && std::any_of(commented.begin(), commented.end(),
                                                    [&](const auto& word) { return starts.contains(word); });
  if (lgl)
    return ForeignText{"LGL, whose lines with # are nodes", "in igraph: write_graph(g, 'edges.txt', format = 'ncol')"};
  return std::nullopt;
}

std::optional<ForeignText> foreign_rows(const std::vector<std::vector<std::string>>& rows, bool all) {
  if (rows.size() < 2) return std::nullopt;
  const auto& first = rows[0];
  bool numbers = true;
  bool colons = true;
  std::set<std::size_t> lengths;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const std::string& field : rows[r]) numbers = numbers && is_number(field);
    lengths.insert(rows[r].size());
    colons = colons && !rows[r].empty() && rows[r][0].ends_with(':');
  }
  std::int64_t count = 0;
  if (numbers && first.size() == 1 && parse_whole(first[0], &count) &&
      (!all || count + 1 == static_cast<std::int64_t>(rows.size())))
    return ForeignText{"a mesh, or a list that begins with its length",
                       "delete the first line, if the others are edges"};
  if (numbers && rows.size() > 2 && first.size() >= 2 && first.size() <= 4 && parse_whole(first[0], &count) &&
      (!all || count + 1 >= static_cast<std::int64_t>(rows.size())))
    return ForeignText{"METIS, or an adjacency list",
                       "--format metis; an adjacency list has to become one edge a line"};
  const bool many = lengths.size() > 2 || *lengths.rbegin() > 3;
  if ((numbers && many) || colons) return ForeignText{"an adjacency list", std::string(kNetworkX)};
  return std::nullopt;
}

/// Of a square table: equal across its diagonal, which holds one number alone.
static bool is_symmetric(const std::vector<std::vector<std::string>>& rows) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r][r] != rows[0][0]) return false;
    for (std::size_t c = 0; c < r; ++c) {
      if (rows[r][c] != rows[c][r]) return false;
    }
  }
  return true;
}

std::optional<ForeignText> foreign_matrix(const std::vector<std::string>& names,
                                          const std::vector<std::vector<std::string>>& rows, bool all, bool by_names) {
  const ForeignText matrix = {"an adjacency matrix",
                              "in Python: np.argwhere(A) gives one edge a row; --features takes matrices of features"};
  if (rows.size() < 2) return std::nullopt;
  const std::size_t named = std::min(rows.size(), names.size() - 1);
  std::size_t same = 0;
  for (std::size_t r = 0; r < named; ++r) same += !rows[r][0].empty() && names[r + 1] == rows[r][0];
  const bool square = all ? names.size() == rows.size() + 1 : names.size() > rows.size();
  if (square && same == named && same >= 2) return matrix;
  if (by_names) return std::nullopt;
  const auto zero_or_one = [](const std::string& field) {
    return field == "0" || field == "1" || field == "0.0" || field == "1.0";
  };
  const bool binary = std::all_of(rows.begin(), rows.end(),
                                  [&](const auto& row) { return std::all_of(row.begin(), row.end(), zero_or_one); });
  const std::size_t columns = rows[0].size();
  if (all && columns == rows.size() && columns >= 3 && (binary || columns > 3 || is_symmetric(rows))) return matrix;
  if (binary && columns > 3) return matrix;
  return std::nullopt;
}

std::optional<ForeignText> foreign_bytes(std::string_view bytes) {
  const std::string arrays = "save it as .npy (np.save), .npz or CSV";
  if (bytes.starts_with("PAR1"))
    return ForeignText{"a Parquet file", "in pandas: pd.read_parquet(…).to_csv('edges.csv', index=False)"};
  if (bytes.starts_with("PK") && bytes.find("[Content_Types].xml") != std::string_view::npos)
    return ForeignText{"an Excel file", "save the sheet as CSV"};
  if (bytes.starts_with("PK") && bytes.find("opendocument.spreadsheet") != std::string_view::npos)
    return ForeignText{"an OpenDocument spreadsheet", "save the sheet as CSV"};
  if (bytes.starts_with("ARROW1"))
    return ForeignText{"an Arrow (Feather) file", "in pandas: pd.read_feather(…).to_csv('edges.csv', index=False)"};
  if (bytes.starts_with("SQLite format 3"))
    return ForeignText{"an SQLite database", "sqlite3 -header -csv FILE 'select source, target from edges'"};
  if (bytes.starts_with("%PDF")) return ForeignText{"a PDF file", "is it the right file?"};
  if (bytes.starts_with("version https://git-lfs"))
    return ForeignText{"a pointer of Git LFS, not the file itself,", "git lfs pull brings the file"};
  if (bytes.size() < 400 && bytes.find(".git/annex/objects/") != std::string_view::npos)
    return ForeignText{"a pointer of git-annex, not the file itself,", "git annex get brings the file"};
  if (bytes.starts_with("\x89HDF")) return ForeignText{"an HDF5 file", arrays};
  if (bytes.starts_with("MATLAB 5.0"))
    return ForeignText{"a MATLAB file", "in Python: scipy.io.loadmat, then " + arrays};
  if (bytes.starts_with("\xd0\xcf\x11\xe0")) return ForeignText{"an Excel file", "save the sheet as CSV"};
  if (bytes.starts_with("RDX") || bytes.starts_with("X\n"))
    return ForeignText{"an R data file", "in R: write.csv(edges, 'edges.csv', row.names = FALSE)"};
  if (bytes.starts_with("BZh")) return ForeignText{"a bzip2 file", "unpack it first: bunzip2 FILE"};
  if (bytes.starts_with("\xfd"
                        "7zXZ"))
    return ForeignText{"an xz file", "unpack it first: unxz FILE"};
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return ForeignText{"a zstd file", "unpack it first: unzstd FILE"};
  if (bytes.size() > 262 && bytes.substr(257, 5) == "ustar")
    return ForeignText{"a tar archive", "unpack it first: tar xf FILE"};
  if (bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5)
    return ForeignText{"a Python pickle", arrays};
  return std::nullopt;
}

std::string odd_word(std::string_view word) {
  if (word.empty()) return "is empty";
  const char first = word.front();
  const char last = word.back();
  if (first == '(' || first == '[' || first == '{' || first == '<') return "begins with a bracket";
  const auto closes = [&](char open, char close) { return last == close && word.find(open) == std::string_view::npos; };
  if (closes('(', ')') || closes('[', ']') || closes('{', '}')) return "ends with a bracket";
  if (word.size() > 1 && first == last && (first == '\'' || first == '`')) return "is in quotes that are not \"";
  if (first == '"') return "begins with a quote";
  for (const char c : word) {
    if (static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') return "has a character that cannot be seen";
  }
  for (const std::string_view code : {"\xef\xbb\xbf", "\xe2\x80\x8b", "\xc2\xa0"}) {
    if (word.starts_with(code) || word.ends_with(code)) return "has a character that cannot be seen";
  }
  return {};
}

}  // namespace gneiss::data
