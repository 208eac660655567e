// Which column is what: by flags, else by the words of the header, else by what the values are.
#include "data/table_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "data/column_words.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

class Chooser {
 public:
  Chooser(const TableHead& head, const TableOptions& options) : head_(head), options_(options) {}

  TableColumns choose() {
    left_out_.assign(head_.columns, "");
    find_key();
    if (head_.kind == TableKind::kLabels) {
      find_labels();
    } else {
      find_features();
    }
    if (found_.values.empty()) fail(head_.where_row(0), "the table has ids but no values");
    found_.counted_first = !head_.header && found_.key == kNoColumn && first_row_counts();
    describe();
    return std::move(found_);
  }

 private:
  std::string plain(std::size_t c) const { return plain_name(head_.names[c]); }
  bool features() const { return head_.kind == TableKind::kFeatures; }

  /// All sampled values differ.
  bool distinct(std::size_t c) const {
    std::set<std::string> seen;
    return std::all_of(head_.rows.begin(), head_.rows.end(),
                       [&](const auto& row) { return seen.insert(row[c]).second; });
  }

  void find_key() {
    const bool index = head_.header && head_.columns > 1 && (head_.row_names || is_index_word(plain(0)));
    if (!options_.id_column.empty()) {
      found_.key = find_column(head_, options_.id_column, "id-column");
    } else if (head_.header && head_.columns > 1) {
      found_.key = named_key();
    } else if (head_.columns == 2 && !features() && distinct(0)) {
      found_.key = 0;
      found_.bare_pairs = true;
    }
    if (!index || found_.key == 0) return;
    if (found_.key == kNoColumn) {
      found_.key = 0;
      found_.index = true;
    } else {
      left_out_[0] = "an index";
    }
  }

  std::size_t named_key() const {
    for (const char* word : {"id", "nodeid", "node", "vertexid", "vertex"}) {
      for (std::size_t c = 0; c < head_.columns; ++c) {
        if (plain(c) == word) return c;
      }
    }
    const std::size_t front = head_.row_names || is_index_word(plain(0)) ? 1 : 0;
    if (front < head_.columns && is_leading_id_word(head_.names[front])) return front;
    for (std::size_t c = 0; c < head_.columns; ++c) {
      if (is_id_word(plain(c))) return c;
    }
    return kNoColumn;
  }

  bool first_row_counts() const {
    for (std::size_t c = 0; c < head_.columns; ++c) {
      if (head_.rows.empty() || head_.rows[0][c] != std::to_string(c)) return false;
    }
    return true;
  }

  bool free(std::size_t c) const { return c != found_.key && left_out_[c].empty(); }

  bool all_empty(std::size_t c) const {
    return !head_.rows.empty() &&
           std::all_of(head_.rows.begin(), head_.rows.end(), [&](const auto& row) { return row[c].empty(); });
  }

  void find_features() {
    std::size_t label = kNoColumn;
    // Features of new nodes come without it; a wrong name is refused where the labels are read.
    if (has_column(head_, options_.label_column)) label = find_column(head_, options_.label_column, "label-column");
    const bool coordinates = std::any_of(head_.names.begin(), head_.names.end(),
                                         [](const std::string& name) { return plain_name(name) == "x"; });
    for (std::size_t c = 0; c < head_.columns; ++c) {
      if (!free(c)) continue;
      const bool y = plain(c) == "y" && coordinates;
      const bool labelled = c == label || (label == kNoColumn && head_.header && !y && is_label_word(plain(c)));
      const bool words = head_.facts[c].words > 0 || (head_.facts[c].numbers() == 0 && !head_.rows.empty());
      const bool known = head_.header && (is_id_word(plain(c)) || is_type_word(plain(c)) || is_time_word(plain(c)));
      if (head_.header && plain(c).ends_with("mask")) {
        left_out_[c] = "a mask";
      } else if (head_.header && all_empty(c)) {
        left_out_[c] = "empty";
      } else if (labelled) {
        left_out_[c] = "a label";
      } else if (words && known) {
        left_out_[c] = "no numbers";
      } else {
        const std::size_t width = words ? list_width(c) : 1;
        if (width == 0) refuse_words(c);
        found_.values.push_back(c);
        found_.widths.push_back(width);
      }
    }
    std::int64_t first;
    if (head_.header || found_.key != kNoColumn || head_.columns < 2) return;
    const bool counts = counts_rows(head_, 0, 3, &first);
    if (counts || looks_like_ids(0))
      found_.doubts.push_back(
          fmt::format("{}: the first column {} and is read as a feature; --id-column 1 if it holds ids", head_.where,
                      counts ? "counts the rows" : "looks like ids"));
  }

  /// Whole numbers that all differ, beside columns of other numbers.
  bool looks_like_ids(std::size_t c) const {
    const auto rows = static_cast<std::int64_t>(head_.rows.size());
    const bool fractions =
        std::any_of(head_.facts.begin(), head_.facts.end(), [](const ColumnFacts& facts) { return facts.real > 0; });
    return rows >= 3 && fractions && head_.facts[c].whole == rows && distinct(c);
  }

  /// How many numbers each field of a column of words holds: lists of equal length, or 1 for True and False; 0 if
  /// they are neither.
  std::size_t list_width(std::size_t c) const {
    std::vector<double> numbers;
    std::size_t width = 0;
    double number = 0;
    if (std::all_of(head_.rows.begin(), head_.rows.end(),
                    [&](const auto& row) { return parse_truth(row[c], &number); }))
      return 1;
    for (const auto& row : head_.rows) {
      if (!parse_list(row[c], &numbers) || (width != 0 && numbers.size() != width)) return 0;
      width = numbers.size();
    }
    return width;
  }

  [[noreturn]] void refuse_words(std::size_t c) const {
    std::size_t r = 0;
    while (r + 1 < head_.rows.size() && field_type(head_.rows[r][c]) != FieldType::kWord && !head_.rows[r][c].empty())
      ++r;
    const std::string& field = head_.rows[r][c];
    const bool list =
        field.find_first_of(",; ") != std::string::npos && field.find_first_of("0123456789") != std::string::npos;
    std::string hint = "features are numbers: leave the column out, or write it as columns of 0 and 1";
    if (c + 1 == head_.columns)
      hint = fmt::format("if the column is the label: --label-column {}; otherwise leave it out, features are numbers",
                         c + 1);
    if (list) hint = "a list in a field needs as many numbers in every row, between commas or blanks";
    fail(head_.where_row(r),
         fmt::format("expected a number in field {}, got '{}'{}", c + 1, excerpt(field),
                     head_.header ? fmt::format(" (column '{}')", excerpt(head_.names[c])) : ""),
         hint);
  }

  void find_labels() {
    if (!options_.label_column.empty()) {
      const std::size_t label = find_column(head_, options_.label_column, "label-column");
      if (found_.key == label && !options_.id_column.empty())
        throw Error(ErrorCode::kUsage, "--id-column and --label-column name one column", head_.where);
      if (found_.key == label) found_.key = kNoColumn;
      found_.values = {label};
      return;
    }
    std::vector<std::size_t> left;
    for (std::size_t c = 0; c < head_.columns; ++c) {
      if (free(c)) left.push_back(c);
    }
    if (left.empty() && found_.key != kNoColumn && !found_.index) left = {std::exchange(found_.key, kNoColumn)};
    if (left.size() > 1 && head_.header) left = named_label(left);
    found_.values = left;
  }

  /// The one column that is named like a label, or all of them if they can be many labels.
  std::vector<std::size_t> named_label(std::vector<std::size_t> left) {
    std::vector<std::size_t> named;
    for (const std::size_t c : left) {
      if (is_label_word(plain(c))) named.push_back(c);
      if (plain(c).ends_with("mask")) left_out_[c] = "a mask";
    }
    if (named.size() == 2) {
      // Gephi's Label is a name for display; a column of classes beside it is the label.
      const auto shows = [&](std::size_t c) {
        return plain(c) == "label" && head_.rows.size() > 2 && distinct(c) && head_.facts[c].words > 0;
      };
      std::erase_if(named, shows);
    }
    if (named.size() == 1) return named;
    std::erase_if(left, [&](std::size_t c) { return !left_out_[c].empty(); });
    const bool words = std::any_of(left.begin(), left.end(), [&](std::size_t c) { return head_.facts[c].words > 0; });
    if (named.size() > 1 || words)
      fail(head_.where_row(0), fmt::format("which column is the label? There are {}", join(head_.names, ", ")),
           "--label-column NAME");
    return left;
  }

  void describe() {
    std::string key = "row r is node r";
    if (found_.key != kNoColumn)
      key = head_.column_text(found_.key) + (found_.index ? " is an index" : " names the node");
    const std::size_t count = found_.values.size();
    const std::size_t numbers = std::accumulate(found_.widths.begin(), found_.widths.end(), std::size_t{0});
    const std::string values = features()   ? fmt::format("{} features", numbers)
                               : count == 1 ? head_.column_text(found_.values[0]) + " is the label"
                                            : fmt::format("{} columns of labels", count);
    found_.text = fmt::format("read with {}: {}, {}", head_.summary(), key, values);
    std::vector<std::string> left;
    for (std::size_t c = 0; c < head_.columns; ++c) {
      if (c == found_.key || std::find(found_.values.begin(), found_.values.end(), c) != found_.values.end()) continue;
      left.push_back(head_.column_text(c) + (left_out_[c].empty() ? "" : fmt::format(" ({})", left_out_[c])));
    }
    if (!left.empty()) found_.text += "; left out: " + join(left, ", ");
  }

  const TableHead& head_;
  const TableOptions& options_;
  TableColumns found_;
  std::vector<std::string> left_out_;  ///< [columns] why, or empty
};

}  // namespace

bool parse_truth(std::string_view field, double* number) {
  const bool yes = field == "True" || field == "TRUE" || field == "true";
  *number = yes ? 1 : 0;
  return yes || field == "False" || field == "FALSE" || field == "false";
}

bool parse_list(std::string_view field, std::vector<double>* numbers) {
  numbers->clear();
  const bool bracketed = field.size() > 1 && ((field.front() == '[' && field.back() == ']') ||
                                              (field.front() == '(' && field.back() == ')'));
  if (bracketed) field = field.substr(1, field.size() - 2);
  while (!field.empty()) {
    const std::size_t first = field.find_first_not_of(" \t\n");
    if (first == std::string_view::npos) break;
    const std::size_t end = std::min(field.find_first_of(" \t\n,;", first), field.size());
    double number = 0;
    if (!parse_real(field.substr(first, end - first), &number)) return false;
    numbers->push_back(number);
    const std::size_t next = std::min(field.find_first_not_of(" \t\n", end), field.size());
    const bool separated = next < field.size() && (field[next] == ',' || field[next] == ';');
    field.remove_prefix(separated ? next + 1 : next);
  }
  return numbers->size() > 1 || (bracketed && numbers->size() == 1);
}

TableColumns choose_table_columns(const TableHead& head, const TableOptions& options) {
  return Chooser(head, options).choose();
}

}  // namespace gneiss::data
