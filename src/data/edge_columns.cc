// Method: an option wins over a name in the header, a name over a place. Without names the first two columns are the
// ends, and a third is a weight unless it looks like a time, an edge's number or an id. What cannot be told is an
// error: a wrong graph is worse than none.
#include "data/edge_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "data/column_words.h"
#include "data/foreign_text.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

constexpr const char* kNameEnds =
    "name both ends: --source-column NAME --target-column NAME (a column's name, or its number from 1)";

std::string name_weight(std::size_t column) {
  return fmt::format("--weight-column {} takes it as the weight, --ignore-weights leaves it out", column + 1);
}

class Chooser {
 public:
  Chooser(const TableHead& head, const LoadOptions& options) : head_(head), options_(options) {}

  EdgeColumns choose() {
    refuse_matrix();
    if (head_.columns < 2) {
      fail(head_.rows.empty() ? head_.where : head_.where_row(0),
           fmt::format("an edge needs two fields, from and to; this row has one: '{}'",
                       excerpt(head_.rows.empty() ? head_.names[0] : head_.rows[0][0])),
           "known separators: comma, tab, semicolon, blank, pipe");
    }
    find_ends();
    find_weight();
    check_ids();
    describe();
    return std::move(found_);
  }

 private:
  const TableOptions& flags() const { return options_.tables; }
  bool flagged_ends() const { return !flags().source_column.empty() || !flags().target_column.empty(); }
  std::string plain(std::size_t column) const { return plain_name(head_.names[column]); }
  std::string where() const { return head_.rows.empty() ? head_.where : head_.where_row(0); }

  void refuse_matrix() const {
    if (flagged_ends()) return;
    if (head_.columns < 3) return;
    const bool ends_named = head_.named() && !end_pairs(head_.names).empty();
    // Where names say what the ends are, only names of rows that are those of the columns are telling.
    const auto matrix = ends_named ? foreign_matrix(head_.names, head_.rows, false, true)
                                   : foreign_matrix(head_.names, head_.rows, head_.whole_file, false);
    if (matrix)
      fail(where(), fmt::format("this looks like {}, not like a list of edges", matrix->format), matrix->remedy);
  }

  void find_ends() {
    if (flagged_ends()) return ends_by_flags();
    if (head_.named() && !numbered_names()) return ends_by_names();
    ends_by_place();
  }

  /// Columns in front that only count or name the rows: the index of pandas, the row names of R.
  std::size_t front() const {
    return head_.header && head_.columns > 2 && (head_.row_names || is_index_word(plain(0))) ? 1 : 0;
  }

  /// V1, V2, V3 of R and 0, 1, 2 of pandas are columns without names.
  bool numbered_names() const {
    if (!head_.header || head_.columns < front() + 2) return false;
    const std::string first = plain(front());
    const std::string stem = first.substr(0, first.find_first_of("0123456789"));
    static const std::set<std::string> kStems = {"", "v", "x", "c", "col", "column", "field", "f"};
    if (first == stem || !kStems.contains(stem)) return false;
    const int start = first == stem + "0" ? 0 : 1;
    for (std::size_t c = front(); c < head_.columns; ++c) {
      if (plain(c) != stem + std::to_string(c - front() + start)) return false;
    }
    return true;
  }

  void ends_by_flags() {
    const bool source = !flags().source_column.empty();
    const bool target = !flags().target_column.empty();
    if (source) found_.source = find_column(head_, flags().source_column, "source-column");
    if (target) found_.target = find_column(head_, flags().target_column, "target-column");
    if (source != target) {
      if (head_.columns != 2)
        throw Error(ErrorCode::kUsage, "one end of the edges is named and the other is not", where(), kNameEnds);
      (source ? found_.target : found_.source) = 1 - (source ? found_.source : found_.target);
    }
    if (found_.source == found_.target)
      throw Error(ErrorCode::kUsage, "--source-column and --target-column name one column", where(), kNameEnds);
  }

  /// Columns that may be an end: without the index, the weight, types, times and labels.
  std::vector<std::size_t> candidates() const {
    std::vector<std::size_t> columns;
    for (std::size_t c = 0; c < head_.columns; ++c) {
      const std::string name = plain(c);
      const bool index = c == 0 && is_index_word(name);
      if (!index && !is_weight_word(name) && !is_type_word(name) && !is_time_word(name)) columns.push_back(c);
    }
    return columns;
  }

  void ends_by_names() {
    const auto pairs = end_pairs(head_.names);
    if (pairs.size() == 1) {
      found_.source = pairs[0].first;
      found_.target = pairs[0].second;
      return;
    }
    if (pairs.size() > 1)
      fail(where(), fmt::format("several columns could be the ends of an edge: {}", join(head_.names, ", ")),
           kNameEnds);
    if (head_.columns == 2) return;
    const std::vector<std::size_t> left = candidates();
    if (left.size() != 2)
      fail(where(), fmt::format("no two columns are plainly the ends of an edge: {}", join(head_.names, ", ")),
           kNameEnds);
    found_.source = left[0];
    found_.target = left[1];
  }

  void ends_by_place() {
    if (head_.konect && head_.comments[0].starts_with("bip") && head_.facts[0].words == 0)
      fail(where(), "a bipartite graph, whose two columns number their nodes each for itself: 1 and 1 are two nodes",
           "give one side other ids, for example: awk '!/^%/ {print $1, \"b\" $2}' FILE");
    std::int64_t first = 0;
    const std::size_t columns = head_.columns - front();
    const bool counted = front() == 0 && columns > 2 && !head_.konect && counts_rows(head_, 0, 2, &first);
    if (columns > 3 && !head_.konect) {
      fail(where(),
           fmt::format("{} columns without names: which are the ends of an edge?{}", columns,
                       counted ? " The first one counts the rows" : ""),
           std::string(kNameEnds) + "; a table of numbers is --features of an edge list");
    }
    if (counted && !options_.ignore_weights && !first_column_is_an_end()) {
      fail(where(), "the first column counts the rows: is it an index (pandas, R), or the source of the edges?",
           "with an index: --source-column 2 --target-column 3; without: --source-column 1 --target-column 2 "
           "--weight-column 3");
    }
    found_.source = front();
    found_.target = front() + 1;
    if (columns == 3 && !head_.konect) refuse_triples(front() + 2);
  }

  /// Head, relation, tail, as knowledge graphs are written: the middle column has few values, and the last one those of
  /// the first.
  void refuse_triples(std::size_t last) const {
    std::set<std::string> heads;
    std::set<std::string> relations;
    std::set<std::string> tails;
    for (const auto& row : head_.rows) {
      heads.insert(row[last - 2]);
      relations.insert(row[last - 1]);
      tails.insert(row[last]);
      std::int64_t id = -1;
      if (!parse_int(row[last], &id)) return;
    }
    const auto shared =
        std::count_if(tails.begin(), tails.end(), [&](const std::string& tail) { return heads.contains(tail); });
    if (tails.size() < 10 || tails.size() < 4 * relations.size() ||
        2 * shared < static_cast<std::ptrdiff_t>(tails.size()))
      return;
    fail(where(),
         "is the middle column a relation, as in a knowledge graph? It has few values, and the last column has ids",
         "head, relation, tail: --source-column 1 --target-column 3; with weights last: --source-column 1 "
         "--target-column "
         "2 --weight-column 3");
  }

  /// Of three columns whose first one counts the rows: can the first two be the ends and the third a weight?
  bool first_column_is_an_end() const {
    const ColumnFacts& third = head_.facts[2];
    if (head_.facts[1].words > 0) return false;
    if (third.real > 0) return true;
    if (third.words > 0 || third.missing > 0) return false;
    std::set<std::string> targets;
    std::set<std::string> values;
    bool inside = true;
    const auto rows = static_cast<std::int64_t>(head_.rows.size());
    for (const auto& row : head_.rows) {
      std::int64_t id = -1;
      inside = inside && parse_whole(row[1], &id) && id >= 0 && id <= rows + 1;
      targets.insert(row[1]);
      values.insert(row[2]);
    }
    if (values.size() == 1 && rows > 1) return inside;
    const auto shared =
        std::count_if(values.begin(), values.end(), [&](const auto& value) { return targets.contains(value); });
    return inside && 2 * shared < static_cast<std::ptrdiff_t>(values.size());
  }

  void find_weight() {
    if (options_.ignore_weights) return;
    if (!flags().weight_column.empty()) {
      found_.weight = find_column(head_, flags().weight_column, "weight-column");
      if (found_.weight == found_.source || found_.weight == found_.target)
        throw Error(ErrorCode::kUsage, "--weight-column names an end of the edges", where(), kNameEnds);
      return;
    }
    if (head_.attributes) {
      const auto weighted = [](const std::string& attributes) {
        return attributes.find("weight'") != std::string::npos || attributes.find("weight\"") != std::string::npos;
      };
      found_.attribute_weights = !head_.attribute_texts.empty() && weighted(head_.attribute_texts[0]);
      return;
    }
    if ((flagged_ends() && !head_.named())) return;
    if (head_.named() && (flagged_ends() || !numbered_names())) return weight_by_name();
    if (head_.columns - front() >= 3) weight_by_place(front() + 2);
  }

  void weight_by_name() {
    std::vector<std::size_t> named;
    std::vector<std::size_t> exact;
    for (std::size_t c = 0; c < head_.columns; ++c) {
      const bool end = c == found_.source || c == found_.target;
      if (end || !is_weight_word(plain(c)) || empty_column(c)) continue;
      named.push_back(c);
      if (plain(c) == "weight") exact.push_back(c);
    }
    if (named.size() > 1 && exact.size() != 1)
      fail(where(), fmt::format("several columns could be the weight: {}", join(head_.names, ", ")),
           "--weight-column NAME, or --ignore-weights");
    if (named.empty()) return;
    found_.weight = exact.size() == 1 ? exact[0] : named[0];
    require_numbers(found_.weight);
  }

  bool empty_column(std::size_t c) const {
    return !head_.rows.empty() &&
           std::all_of(head_.rows.begin(), head_.rows.end(), [&](const auto& row) { return row[c].empty(); });
  }

  void require_numbers(std::size_t column) const {
    for (std::size_t r = 0; r < head_.rows.size(); ++r) {
      double value;
      if (parse_number(head_.rows[r][column], head_.decimal, &value)) continue;
      if (r > 0)
        fail(head_.where_row(r), fmt::format("expected a weight, got '{}'", excerpt(head_.rows[r][column])),
             "drop the weights with --ignore-weights");
      const std::string which = head_.named() && !numbered_names() ? head_.column_text(column) : "the third column";
      fail(head_.where_row(r),
           fmt::format("{} should be a weight, the first one is '{}'", which, excerpt(head_.rows[r][column])),
           "drop it with --ignore-weights; if it is an end of the edges, name both: --source-column, --target-column");
    }
  }

  void weight_by_place(std::size_t column) {
    if (empty_column(column)) return;
    require_numbers(column);
    const std::string what = no_weight(column);
    if (what.empty()) {
      found_.weight = column;
      return;
    }
    found_.doubts.push_back(
        fmt::format("{}: the third column has no name and looks like {}, such as {}; it is left out ({})", head_.where,
                    what, head_.rows[0][column], name_weight(column)));
  }

  /// What a third column holds that no weight would be; empty if it can be weights.
  std::string no_weight(std::size_t column) const {
    std::vector<double> values;
    for (const auto& row : head_.rows) {
      double value = 0;
      parse_number(row[column], head_.decimal, &value);
      values.push_back(value);
    }
    const auto most = [&](const auto& holds) {
      return 10 * std::count_if(values.begin(), values.end(), holds) >= 9 * static_cast<std::ptrdiff_t>(values.size());
    };
    const auto unix_time = [](double v) {
      return (v >= 3e8 && v <= 5e9) || (v >= 3e11 && v <= 5e12) || (v >= 3e14 && v <= 5e15) || (v >= 3e17 && v <= 5e18);
    };
    const auto whole = [](double v) { return v == std::floor(v); };
    if (most(unix_time)) return "times";
    if (values.size() > 1 && most([](double v) { return v == 0; })) return "keys of parallel edges";
    if (!std::all_of(values.begin(), values.end(), whole)) return {};
    if (most([](double v) { return v >= 1900 && v <= 2100; })) return "years";
    const auto date = [](double v) {
      const auto day = static_cast<std::int64_t>(v);
      return v >= 19000101 && v <= 21001231 && day / 100 % 100 >= 1 && day / 100 % 100 <= 12 && day % 100 >= 1 &&
             day % 100 <= 31;
    };
    if (most(date)) return "dates";
    std::int64_t first;
    if (counts_rows(head_, column, 3, &first)) return "numbers of the edges";
    const std::set<double> distinct(values.begin(), values.end());
    const double largest = *std::max_element(values.begin(), values.end());
    if (values.size() >= 10 && largest >= 1e5 && distinct.size() == values.size()) return "ids";
    return {};
  }

  /// Ids are numbers or words, and no fractions.
  void check_ids() {
    for (const std::size_t column : {found_.source, found_.target}) {
      const ColumnFacts& facts = head_.facts[column];
      if (facts.words > 0 && facts.words <= facts.whole + facts.real) {
        const std::size_t r = first_row(column, FieldType::kWord);
        fail(head_.where_row(r),
             fmt::format("expected a whole number as node id, got '{}' ({}; {} of the first ids are numbers)",
                         excerpt(head_.rows[r][column]), head_.column_text(column), facts.whole),
             "mend the id; if ids are names, give each one a letter, such as n12");
      }
      found_.words = found_.words || facts.words > 0;
    }
    for (const std::size_t column : {found_.source, found_.target}) {
      for (std::size_t r = 0; r < head_.rows.size(); ++r) check_id(head_.rows[r][column], column, r);
    }
    if (!found_.words) {
      refuse_cut_digits();
      return refuse_two_kinds();
    }
    refuse_sizes_over_words();
    const ColumnFacts& a = head_.facts[found_.source];
    const ColumnFacts& b = head_.facts[found_.target];
    if (a.numbers() + b.numbers() == 0) return;
    found_.doubts.push_back(
        fmt::format("{}: {} of the first {} ids are numbers, the others words; all are taken as words, so that 1 and "
                    "1.0 are two nodes",
                    head_.where, a.numbers() + b.numbers(), 2 * head_.rows.size()));
  }

  /// 1.23457E+15: a spreadsheet shows so and saves what it shows, so that ids of twelve digits and more become equal.
  void refuse_cut_digits() const {
    for (const std::size_t column : {found_.source, found_.target}) {
      for (std::size_t r = 0; r < head_.rows.size(); ++r) {
        const std::string& id = head_.rows[r][column];
        const std::size_t exponent = id.find("E+");
        if (exponent != 7 || (id[1] != '.' && id[1] != ',') || id.size() != 11 || id.substr(9) < "11") continue;
        fail(head_.where_row(r), fmt::format("the id '{}' has lost its last digits to a spreadsheet", id),
             "give the column the format of text or of whole numbers there, and save again");
      }
    }
  }

  /// user and item: two kinds of nodes, which often are numbered each for itself.
  void refuse_two_kinds() const {
    if (!head_.header || flagged_ends() || numbered_names()) return;
    static const std::vector<std::pair<std::set<std::string>, std::set<std::string>>> kKinds = {
        {{"user", "userid", "customer", "customerid", "reader", "readerid", "rater", "person", "personid", "author",
          "authorid"},
         {"item",    "itemid", "movie",    "movieid",  "product",    "productid", "book",
          "bookid",  "artist", "artistid", "song",     "paper",      "paperid",   "group",
          "groupid", "venue",  "page",     "business", "businessid", "company"}}};
    const std::string a = plain(found_.source);
    const std::string b = plain(found_.target);
    const bool kinds = std::any_of(kKinds.begin(), kKinds.end(), [&](const auto& kind) {
      return (kind.first.contains(a) && kind.second.contains(b)) || (kind.first.contains(b) && kind.second.contains(a));
    });
    std::set<std::string> sources;
    for (const auto& row : head_.rows) sources.insert(row[found_.source]);
    const auto shared = std::find_if(head_.rows.begin(), head_.rows.end(),
                                     [&](const auto& row) { return sources.contains(row[found_.target]); });
    if (!kinds || shared == head_.rows.end()) return;
    fail(where(),
         fmt::format(
             "'{}' and '{}' look like two kinds of nodes that count each for itself: {} would be one node of both",
             head_.names[found_.source], head_.names[found_.target], (*shared)[found_.target]),
         "give one kind other ids, for example i1, i2, …; or name the columns: --source-column, --target-column");
  }

  /// A first row of two numbers over rows of words: how many nodes and edges there are.
  void refuse_sizes_over_words() const {
    if (head_.header || head_.columns != 2 || head_.rows.size() < 2) return;
    const ColumnFacts& a = head_.facts[0];
    const ColumnFacts& b = head_.facts[1];
    const auto& first = head_.rows[0];
    const bool numbers = field_type(first[0]) == FieldType::kWhole && field_type(first[1]) == FieldType::kWhole;
    if (numbers && a.whole == 1 && b.whole == 1)
      fail(head_.where_row(0),
           fmt::format("is '{} {}' an edge, or the numbers of nodes and edges? All other ids are words", first[0],
                       first[1]),
           "delete the line; if it is an edge, move it to another place");
  }

  void check_id(const std::string& id, std::size_t column, std::size_t row) const {
    const std::string which = head_.column_text(column);
    if (id.empty())
      fail(head_.where_row(row), fmt::format("the node id in {} is empty", which),
           plain(column) == "start" || plain(column) == "end" ? "with Neo4j, export relationships alone"
                                                              : "delete the row, or give the node an id");
    if (found_.words) {
      const std::string odd = odd_word(id);
      if (!odd.empty())
        fail(head_.where_row(row), fmt::format("the node id '{}' in {} {}", excerpt(id), which, odd),
             "ids are numbers or plain words; quotes are \"…\"");
      return;
    }
    const FieldType type = field_type(id);
    if (type == FieldType::kReal || type == FieldType::kComma) {
      fail(head_.where_row(row),
           fmt::format("expected a whole number as node id, got the fraction '{}' in {}", excerpt(id), which),
           std::string(kNameEnds) + "; a table of numbers is --features of an edge list");
    }
  }

  std::size_t first_row(std::size_t column, FieldType type) const {
    for (std::size_t r = 0; r < head_.rows.size(); ++r) {
      if (field_type(head_.rows[r][column]) == type) return r;
    }
    return 0;
  }

  /// True if a column of types says "Undirected" in every row: Gephi's.
  bool says_undirected() const {
    for (std::size_t c = 0; c < head_.columns; ++c) {
      const auto undirected = [&](const auto& row) { return row[c] == "Undirected" || row[c] == "undirected"; };
      if (is_type_word(plain(c)) && !head_.rows.empty() &&
          std::all_of(head_.rows.begin(), head_.rows.end(), undirected))
        return true;
    }
    return false;
  }

  void describe() {
    found_.undirected = head_.undirected || says_undirected();
    std::string text = fmt::format("read with {}: {} is the source, {} the target, {}", head_.summary(),
                                   head_.column_text(found_.source), head_.column_text(found_.target),
                                   found_.attribute_weights     ? "weights in {…}"
                                   : found_.weight == kNoColumn ? "no weights"
                                                                : head_.column_text(found_.weight) + " the weight");
    std::vector<std::string> left;
    for (std::size_t c = 0; c < head_.columns; ++c) {
      if (c == found_.source || c == found_.target || c == found_.weight) continue;
      std::int64_t first;
      const bool index = c == 0 && (head_.row_names || is_index_word(plain(c))) && counts_rows(head_, c, 1, &first);
      left.push_back(head_.column_text(c) + (index ? " (an index)" : ""));
    }
    if (!left.empty()) text += fmt::format("; left out: {}", join(left, ", "));
    if (!head_.rows.empty()) {
      const auto& row = head_.rows[0];
      text += fmt::format("; first edge {} -> {}", excerpt(row[found_.source]), excerpt(row[found_.target]));
      if (found_.weight != kNoColumn) text += fmt::format(" of weight {}", excerpt(row[found_.weight]));
    }
    found_.text = text;
  }

  const TableHead& head_;
  const LoadOptions& options_;
  EdgeColumns found_;
};

}  // namespace

EdgeColumns choose_edge_columns(const TableHead& head, const LoadOptions& options) {
  return Chooser(head, options).choose();
}

}  // namespace gneiss::data
