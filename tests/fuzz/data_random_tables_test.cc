// Two hundred tables as people's tools write them: separator, quotes, header, index, order of columns, kinds of ids,
// marks, line ends, comments and further columns are drawn, and the graph is known. Each must be read as that graph or
// be refused; a wrong graph is never handed out. Drawn from a counter-based generator, so that a failure has a number.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "data/load.h"
#include "support/data_fixtures.h"

namespace gneiss::data {
namespace {

using ::gneiss::testing::gzip;
using ::gneiss::testing::named_edges;
using ::gneiss::testing::TempFolder;

constexpr int kTables = 200;

template <class T>
const T& pick(const std::vector<T>& all, RandomStream* random) {
  return all[static_cast<std::size_t>(random->below(all.size()))];
}
bool chance(int percent, RandomStream* random) { return random->below(100) < static_cast<std::uint64_t>(percent); }

/// How a table is written.
struct Style {
  std::string separator;
  std::string line_end;
  bool mark = false;
  bool quotes = false;  ///< around every field; otherwise where they are needed
  bool header = false;
  bool last_end = true;
  bool decimal_comma = false;
  bool packed = false;
  std::string comment;

  static Style draw(RandomStream* random) {
    Style style;
    style.separator = pick<std::string>({",", ",", "\t", ";", " ", "|"}, random);
    style.line_end = pick<std::string>({"\n", "\n", "\r\n", "\r"}, random);
    style.mark = chance(20, random);
    style.quotes = chance(25, random);
    style.header = chance(60, random);
    style.last_end = chance(80, random);
    style.decimal_comma = style.separator != "," && chance(25, random);
    style.packed = chance(15, random);
    if (chance(20, random)) style.comment = pick<std::string>({"# made up", "% made up, by hand", "#"}, random);
    return style;
  }

  std::string field(const std::string& text) const {
    const bool needs = text.find_first_of(separator + "\"\n ,;|\t") != std::string::npos;
    if (!quotes && !(needs && (text.find(separator) != std::string::npos || text.find('"') != std::string::npos)))
      return text;
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
  }

  std::string write(const std::vector<std::vector<std::string>>& rows) const {
    std::string text = mark ? "\xef\xbb\xbf" : "";
    if (!comment.empty()) text += comment + line_end;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < rows[r].size(); ++c) text += (c > 0 ? separator : "") + field(rows[r][c]);
      if (r + 1 < rows.size() || last_end) text += line_end;
    }
    return packed ? gzip(text) : text;
  }

  std::string real(double value) const {
    std::string text = fmt::format("{:g}", value);
    if (decimal_comma) std::replace(text.begin(), text.end(), '.', ',');
    return text;
  }
};

/// A graph as a person has it.
struct Source {
  std::vector<std::string> spelled;  ///< ids as in the table
  std::vector<std::string> ids;      ///< ids as they are meant
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  std::vector<double> weights;

  static Source draw(RandomStream* random) {
    static const std::vector<std::string> kWords = {"Ada",           "Bo Li",      "Cy, Jr.", "O'Neil",
                                                    "M\xc3\xbcller", "x_9",        "e4b7",    "7777.P01",
                                                    "a|b",           "say \"hi\"", "Zoe;",    "n12"};
    Source source;
    const auto nodes = static_cast<std::size_t>(4 + random->below(8));
    const auto kind = random->below(4);
    std::int64_t id = kind == 1 ? 1000000 * static_cast<std::int64_t>(random->below(3000)) : 0;
    for (std::size_t v = 0; v < nodes; ++v) {
      const std::string number = std::to_string(id);
      source.ids.push_back(kind == 3 ? kWords[v] : number);
      source.spelled.push_back(kind == 3 ? kWords[v] : kind == 2 ? number + ".0" : number);
      id += kind == 0 ? 1 : 1 + static_cast<std::int64_t>(random->below(50));
    }
    const auto count = 3 + random->below(25);
    for (std::uint64_t e = 0; e < count; ++e) {
      source.edges.emplace_back(random->below(nodes), random->below(nodes));
      source.weights.push_back(0.25 + 0.5 * static_cast<double>(random->below(40)));
    }
    return source;
  }

  std::vector<std::string> expected(bool weighted) const {
    std::vector<std::string> out;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      std::string edge = ids[edges[e].first] + ">" + ids[edges[e].second];
      if (weighted) edge += fmt::format(" {:g}", weights[e]);
      out.push_back(std::move(edge));
    }
    std::sort(out.begin(), out.end());
    return out;
  }
};

std::string any_case(std::string word, RandomStream* random) {
  const auto how = random->below(3);
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (how == 1 || (how == 2 && i == 0))
      word[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[i])));
  }
  return word;
}

struct Column {
  std::string name;
  std::vector<std::string> fields;
};

/// A table of edges: columns in any order where they have names.
struct EdgeTable {
  std::string text;
  std::string suffix;
  bool weighted = false;
  bool plain = false;  ///< nobody could misread it, so it must be read
};

EdgeTable edge_table(const Source& source, const Style& style, RandomStream* random) {
  const auto names = pick<std::pair<std::string, std::string>>({{"source", "target"},
                                                                {"src", "dst"},
                                                                {"from", "to"},
                                                                {"u", "v"},
                                                                {"node1", "node2"},
                                                                {"protein_a", "protein_b"},
                                                                {"from_id", "to_id"},
                                                                {"head", "tail"}},
                                                               random);
  EdgeTable table;
  std::vector<Column> columns = {{any_case(names.first, random), {}}, {any_case(names.second, random), {}}};
  for (const auto& [u, v] : source.edges) {
    columns[0].fields.push_back(source.spelled[u]);
    columns[1].fields.push_back(source.spelled[v]);
  }
  table.weighted = chance(50, random);
  if (table.weighted) {
    columns.push_back(
        {any_case(pick<std::string>({"weight", "w", "score", "combined_score", "value"}, random), random), {}});
    for (const double weight : source.weights) columns.back().fields.push_back(style.real(weight));
  } else if (chance(30, random)) {
    columns.push_back({any_case(pick<std::string>({"time", "timestamp", "ts"}, random), random), {}});
    for (std::size_t e = 0; e < source.edges.size(); ++e)
      columns.back().fields.push_back(std::to_string(1217567877 + 4001 * e));
  }
  if (style.header && chance(30, random)) {
    columns.push_back({any_case("type", random), std::vector<std::string>(source.edges.size(), "knows")});
  }
  for (std::size_t c = columns.size(); style.header && c > 1; --c) std::swap(columns[c - 1], columns[random->below(c)]);
  if (style.header && chance(30, random)) {
    Column index = {pick<std::string>({"", "Unnamed: 0", "index"}, random), {}};
    const auto first = random->below(2);
    for (std::size_t e = 0; e < source.edges.size(); ++e) index.fields.push_back(std::to_string(first + e));
    columns.insert(columns.begin(), index);
  }
  std::vector<std::vector<std::string>> rows(source.edges.size() + (style.header ? 1 : 0));
  for (const Column& column : columns) {
    if (style.header) rows[0].push_back(column.name);
    for (std::size_t e = 0; e < column.fields.size(); ++e) rows[e + (style.header ? 1 : 0)].push_back(column.fields[e]);
  }
  table.text = style.write(rows);
  table.plain = style.header && style.separator != " " && !style.decimal_comma;
  return table;
}

TEST(RandomTablesTest, AreReadRightOrRefused) {
  const TempFolder folder;
  int read = 0;
  for (int number = 0; number < kTables; ++number) {
    RandomStream random(static_cast<std::uint64_t>(number), 0xF1AB);
    const Style style = Style::draw(&random);
    const Source source = Source::draw(&random);
    const EdgeTable table = edge_table(source, style, &random);
    SCOPED_TRACE("table " + std::to_string(number) + ":\n" + (style.packed ? "(packed)" : table.text));
    const auto path = folder.write("t.csv", table.text);
    try {
      const Dataset dataset = load(path.string());
      EXPECT_EQ(named_edges(dataset), source.expected(table.weighted));
      EXPECT_FALSE(dataset.notes.empty());
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadData) << error.what();
      EXPECT_FALSE(error.hint().empty()) << error.what();
      EXPECT_FALSE(table.plain) << error.what();
    }
  }
  EXPECT_GE(read, kTables * 3 / 4) << "refusing everything is no answer";
}

/// The labels of the nodes by their ids, in a table of its own style.
TEST(RandomTablesTest, LabelsFindTheirNodes) {
  const TempFolder folder;
  int read = 0;
  for (int number = 0; number < kTables; ++number) {
    RandomStream random(static_cast<std::uint64_t>(number), 0xF1AC);
    const Style style = Style::draw(&random);
    const Source source = Source::draw(&random);
    const auto classes = pick<std::vector<std::string>>(
        {{"red", "green", "blue"}, {"0", "1", "2"}, {"1", "2", "10"}, {"0.0", "1.0", "2.0"}}, &random);
    const std::string missing = pick<std::string>({"", "-1", "-100", "NaN", "NA"}, &random);
    std::map<std::string, std::string> expected;
    std::vector<std::vector<std::string>> rows;
    const bool label_first = style.header && chance(30, &random);
    if (style.header)
      rows.push_back({any_case(pick<std::string>({"id", "node", "node_id"}, &random), &random),
                      any_case(pick<std::string>({"label", "class", "y"}, &random), &random)});
    for (std::size_t v = 0; v < source.ids.size(); ++v) {
      const std::string label =
          chance(20, &random) && v > 1 ? missing : classes[v < 2 ? v : random.below(classes.size())];
      const std::string name = label.ends_with(".0") ? label.substr(0, label.size() - 2) : label;
      expected[source.ids[v]] = label == missing ? "none" : name;
      rows.push_back({source.spelled[v], label});
    }
    if (label_first) {
      for (auto& row : rows) std::swap(row[0], row[1]);
    }
    const std::string text = style.write(rows);
    SCOPED_TRACE("table " + std::to_string(number) + ":\n" + (style.packed ? "(packed)" : text));
    std::vector<std::vector<std::string>> edges = {{"source", "target"}};
    for (const auto& [u, v] : source.edges) edges.push_back({source.spelled[u], source.spelled[v]});
    Style comma;
    comma.separator = ",";
    comma.line_end = "\n";
    LoadOptions options;
    options.split = "none";
    options.labels_path = folder.write("y.csv", text);
    try {
      const Dataset d = load(folder.write("e.csv", comma.write(edges)).string(), options);
      std::map<std::string, std::string> found;
      for (std::size_t v = 0; v < static_cast<std::size_t>(d.num_nodes()); ++v) {
        const std::string id = !d.node_names.empty()
                                   ? d.node_names[v]
                                   : std::to_string(d.orig_id.empty() ? static_cast<std::int64_t>(v) : d.orig_id[v]);
        const std::int32_t label = d.labels.classes[v];
        const std::string name = label < 0               ? "none"
                                 : d.class_names.empty() ? std::to_string(label)
                                                         : d.class_names[static_cast<std::size_t>(label)];
        found[id] = name;
      }
      EXPECT_EQ(found, expected);
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadData) << error.what();
    }
  }
  EXPECT_GE(read, kTables * 3 / 4) << "refusing everything is no answer";
}

}  // namespace
}  // namespace gneiss::data
