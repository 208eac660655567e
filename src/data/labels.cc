// One rule for the labels of all sources: what counts as unlabelled, which texts are one class, in which order classes
// stand.
#include "data/labels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/names.h"
#include "data/readers.h"
#include "data/table_head.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// A class as it is compared and sorted: numbers by value, then words by bytes.
struct ClassKey {
  bool word = false;
  double value = 0;
  std::int64_t whole = 0;  ///< tells large numbers apart that are one double
  std::string text;        ///< the class's name

  friend bool operator<(const ClassKey& a, const ClassKey& b) {
    return std::tie(a.word, a.value, a.whole, a.text) < std::tie(b.word, b.value, b.whole, b.text);
  }
};

ClassKey class_key(const std::string& field) {
  ClassKey key;
  if (parse_whole(field, &key.whole)) {
    key.value = static_cast<double>(key.whole);
    key.text = std::to_string(key.whole);
  } else if (parse_real(field, &key.value)) {
    key.text = fmt::format("{}", key.value);
  } else {
    key.word = true;
    key.text = field;
  }
  return key;
}

/// Unlabelled, where the label is a class.
bool no_class(const std::string& field) {
  std::int64_t number;
  return is_missing_word(field) || (parse_whole(field, &number) && is_unlabelled(number));
}

Labels real_labels(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, LabelKind kind) {
  Labels labels;
  labels.kind = kind;
  labels.num_classes = table.cols;
  const auto width = static_cast<std::size_t>(table.cols);
  labels.targets = Buffer<float>(static_cast<std::size_t>(nodes) * width);
  std::fill(labels.targets.begin(), labels.targets.end(), kNone);
  const bool many = kind == LabelKind::kMulti;
  for (std::size_t r = 0; r < static_cast<std::size_t>(table.rows); ++r) {
    for (std::size_t c = 0; c < width; ++c) {
      const std::string& field = table.text[r * width + c];
      double value = kNone;
      const bool missing = many ? no_class(field) : is_missing_word(field);
      if (!missing && !parse_real(field, &value))
        fail(table.where_row(r), fmt::format("row {}: '{}' is not a number", r + 1, excerpt(field)));
      if (many && !missing && value != 0 && value != 1) {
        fail(
            table.where_row(r),
            fmt::format("row {}: with several columns labels must be 0 or 1, got '{}'", r + 1, excerpt(field)),
            "--id-column and --label-column pick columns by name or number; --label-kind regression takes any numbers");
      }
      labels.targets[static_cast<std::size_t>(row_of[r]) * width + c] = missing ? kNone : static_cast<float>(value);
    }
  }
  return labels;
}

/// The column of the only 1 of a row; -1 for a row without any label, -2 for all others.
std::int32_t one_of_row(const Table& table, std::size_t row) {
  const auto width = static_cast<std::size_t>(table.cols);
  std::int32_t one = -1;
  bool zeros = false;
  for (std::size_t c = 0; c < width; ++c) {
    const std::string& field = table.text[row * width + c];
    std::int64_t value = 0;
    if (no_class(field)) continue;
    if (!parse_whole(field, &value) || (value != 0 && value != 1)) return -2;
    zeros = zeros || value == 0;
    if (value == 0) continue;
    if (one != -1) return -2;
    one = static_cast<std::int32_t>(c);
  }
  return one == -1 && zeros ? -2 : one;
}

/// Columns of which each row has exactly one 1, as classes; kNone if the table is none such.
Labels one_hot_labels(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes) {
  Labels labels;
  std::vector<std::int32_t> ones(static_cast<std::size_t>(table.rows));
  for (std::size_t r = 0; r < ones.size(); ++r) {
    ones[r] = one_of_row(table, r);
    if (ones[r] == -2) return labels;
  }
  if (std::all_of(ones.begin(), ones.end(), [](std::int32_t one) { return one == -1; })) return labels;
  labels.kind = LabelKind::kSingle;
  labels.num_classes = table.cols;
  labels.classes = Buffer<std::int32_t>(static_cast<std::size_t>(nodes));
  std::fill(labels.classes.begin(), labels.classes.end(), -1);
  for (std::size_t r = 0; r < ones.size(); ++r) labels.classes[static_cast<std::size_t>(row_of[r])] = ones[r];
  return labels;
}

void check_numbers(const Table& table, const std::map<ClassKey, std::int32_t>& ids) {
  const ClassKey& first = ids.begin()->first;
  if (!first.word && first.value < 0) {
    fail(table.where,
         fmt::format("'{}' is no class: -1 and -100 mean unlabelled, classes are 0, 1, … or words", first.text),
         "--label-kind regression if the labels are amounts");
  }
  if (ids.size() > 1 || first.word || first.value != 1) return;
  for (std::size_t r = 0; r < table.text.size(); ++r) {
    std::int64_t number;
    if (parse_whole(table.text[r], &number) && number == -1)
      fail(table.where_row(r), "labels are -1 and 1, and -1 means unlabelled here: no class would be left but 1",
           "write the classes as 0 and 1, or as words");
  }
}

void doubt_classes(const Table& table, const std::map<ClassKey, std::int32_t>& ids, std::int64_t labelled,
                   Dataset* out) {
  const auto words = std::count_if(ids.begin(), ids.end(), [](const auto& each) { return each.first.word; });
  const auto classes = static_cast<std::int64_t>(ids.size());
  if (words > 0 && words < classes)
    out->doubts.push_back(fmt::format("{}: {} classes are words and {} are numbers, such as '{}' and '{}'", table.where,
                                      words, classes - words, ids.rbegin()->first.text, ids.begin()->first.text));
  for (const auto& each : ids) {
    static const std::set<std::string> kNoLabels = {"?",         "none",       "None",    "unknown", "Unknown",
                                                    "unlabeled", "unlabelled", "missing", "-",       "."};
    if (kNoLabels.contains(each.first.text))
      out->doubts.push_back(
          fmt::format("{}: '{}' is a class of its own; leave the field empty where a node has no label", table.where,
                      each.first.text));
  }
  if (classes >= 20 && 2 * classes > labelled)
    out->doubts.push_back(fmt::format(
        "{}: {} classes for {} labelled nodes; is this the right column? Amounts need --label-kind regression",
        table.where, classes, labelled));
}

Labels class_column(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, Dataset* out) {
  std::map<ClassKey, std::int32_t> ids;
  std::int64_t labelled = 0;
  for (const std::string& field : table.text) {
    if (no_class(field)) continue;
    ids.emplace(class_key(field), 0);
    ++labelled;
  }
  Labels labels;
  labels.kind = LabelKind::kSingle;
  labels.num_classes = static_cast<std::int64_t>(ids.size());
  labels.classes = Buffer<std::int32_t>(static_cast<std::size_t>(nodes));
  std::fill(labels.classes.begin(), labels.classes.end(), -1);
  if (ids.empty()) return labels;
  check_numbers(table, ids);
  doubt_classes(table, ids, labelled, out);
  bool consecutive = true;
  std::int32_t next = 0;
  for (auto& [key, id] : ids) {
    id = next++;
    consecutive = consecutive && !key.word && key.text == std::to_string(id);
    out->class_names.push_back(key.text);
  }
  if (consecutive) out->class_names.clear();
  for (std::size_t r = 0; r < table.text.size(); ++r) {
    if (!no_class(table.text[r]))
      labels.classes[static_cast<std::size_t>(row_of[r])] = ids.at(class_key(table.text[r]));
  }
  return labels;
}

/// All labels are numbers, and one has a fraction.
bool has_fractions(const Table& table) {
  bool fractions = false;
  for (const std::string& field : table.text) {
    double real;
    std::int64_t whole;
    if (is_missing_word(field)) continue;
    if (!parse_real(field, &real)) return false;
    fractions = fractions || !parse_whole(field, &whole);
  }
  return fractions;
}

}  // namespace

Labels table_labels(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, const std::string& kind,
                    Dataset* out) {
  const std::vector<std::string> kinds = {"auto", "class", "multi", "regression"};
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw Error(ErrorCode::kUsage, fmt::format("unknown label kind '{}'", kind), "--label-kind",
                "known: " + join(kinds, ", "));
  const auto columns = [&](LabelKind column_kind) {
    if (table.cols > 1) out->class_names = table.names;
    return real_labels(table, row_of, nodes, column_kind);
  };
  if (kind == "regression") return columns(LabelKind::kRegression);
  if (kind == "multi") return columns(LabelKind::kMulti);
  if (table.cols == 1) {
    if (kind == "auto" && has_fractions(table)) return real_labels(table, row_of, nodes, LabelKind::kRegression);
    return class_column(table, row_of, nodes, out);
  }
  Labels labels = one_hot_labels(table, row_of, nodes);
  if (labels.kind == LabelKind::kNone && kind == "class")
    fail(table.where, fmt::format("{} columns of labels, of which some row has not exactly one 1", table.cols),
         "--label-column picks the column of the classes; --label-kind multi reads many labels a node");
  if (labels.kind == LabelKind::kNone) return columns(LabelKind::kMulti);
  out->notes.push_back(
      fmt::format("{}: each row has one 1 in {} columns: one class a node; --label-kind multi reads many labels a node",
                  table.where, table.cols));
  out->class_names = table.names;
  return labels;
}

}  // namespace gneiss::data
