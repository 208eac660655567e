#include "data/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/process.h"
#include "data/matrix_market.h"
#include "data/npy.h"
#include "data/readers.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_missing(std::string_view field) {
  const std::string word = lower(field);
  return word.empty() || word == "nan" || word == "na" || word == "-1";
}

bool skipped(std::string_view line) {
  const std::string_view text = trim(line);
  return text.empty() || text[0] == '#' || text[0] == '%';
}

/// What the first lines say about a table.
struct Layout {
  char separator = ',';
  bool header = false;
  bool keyed = false;
  std::int64_t fields = 0;  ///< in a line, key included
  std::int64_t rows = 0;
};

std::vector<std::string_view> split_fields(char separator, std::string_view line) {
  std::vector<std::string_view> fields;
  std::string_view rest = line;
  std::string_view field;
  while (next_field(separator, &rest, &field)) fields.push_back(field);
  return fields;
}

/// First pass: separator, header, key column, number of rows; every line must have as many fields as the first.
Layout scan(const std::filesystem::path& path, bool numbers) {
  static const std::set<std::string> kKeyNames = {"id", "node", "node_id", "nodeid", "vertex", "name"};
  Layout layout;
  LineReader lines(path);
  std::string_view line;
  while (lines.next(&line)) {
    if (skipped(line)) continue;
    if (layout.fields == 0) {
      layout.separator = find_separator(line);
      const auto fields = split_fields(layout.separator, line);
      layout.fields = static_cast<std::int64_t>(fields.size());
      const bool names = std::none_of(fields.begin(), fields.end(), [](std::string_view field) {
        double value;
        return parse_real(field, &value) || field.empty();
      });
      const bool key_named = kKeyNames.contains(lower(fields[0]));
      layout.header = names && (numbers || key_named || fields.size() == 1);
      layout.keyed = layout.header ? key_named : !numbers && fields.size() == 2;
      // A lone column of words is a column of labels, unless its first word is a usual heading.
      if (layout.header && !key_named && !numbers)
        layout.header = lower(fields[0]) == "label" || lower(fields[0]) == "target" || lower(fields[0]) == "class";
      if (layout.header) continue;
    }
    std::int64_t count = 0;
    std::string_view rest = line;
    std::string_view field;
    while (next_field(layout.separator, &rest, &field)) ++count;
    if (count != layout.fields)
      fail(lines.where(), fmt::format("expected {} fields as in the first line, got {}", layout.fields, count));
    ++layout.rows;
  }
  if (layout.fields == 0) fail(path.string(), "the table is empty");
  return layout;
}

Table read_table(const std::filesystem::path& path, bool numbers) {
  const Layout layout = scan(path, numbers);
  Table table;
  table.where = path.string();
  table.rows = layout.rows;
  table.keyed = layout.keyed;
  table.cols = layout.fields - (layout.keyed ? 1 : 0);
  if (table.cols == 0) fail(table.where, "the table has ids but no values");
  if (numbers) table.values = Buffer<float>(static_cast<std::size_t>(table.rows * table.cols));
  LineReader lines(path);
  std::string_view line;
  bool header = layout.header;
  std::size_t at = 0;
  while (lines.next(&line)) {
    if (skipped(line)) continue;
    if (header) {
      header = false;
      continue;
    }
    std::string_view rest = line;
    std::string_view field;
    for (std::int64_t f = 0; next_field(layout.separator, &rest, &field); ++f) {
      if (f == 0 && layout.keyed) {
        table.keys.emplace_back(field);
      } else if (!numbers) {
        table.text.emplace_back(field);
      } else {
        double value = 0;
        if (!parse_real(field, &value))
          fail(lines.where(), fmt::format("expected a number in field {}, got '{}'", f + 1, excerpt(field)));
        table.values[at++] = static_cast<float>(value);
      }
    }
  }
  return table;
}

bool is_npy(const std::filesystem::path& path) { return path.extension() == ".npy"; }

Table from_array(const NpyArray& array) {
  if (array.shape.empty() || array.shape.size() > 2)
    fail(array.where, fmt::format("expected [nodes] or [nodes, width], got shape {}", shape_text(array)));
  Table table;
  table.where = array.where;
  table.rows = array.dim(0);
  table.cols = array.dim(1);
  return table;
}

/// A Matrix Market array as a feature table.
Table from_matrix(const std::filesystem::path& path) {
  MatrixMarket matrix = parse_matrix_market(path);
  Table table;
  table.where = path.string();
  table.rows = matrix.rows;
  table.cols = matrix.cols;
  table.values = std::move(matrix.values);
  if (matrix.array) return table;
  const double bytes = static_cast<double>(matrix.rows) * static_cast<double>(matrix.cols) * sizeof(float);
  if (bytes > static_cast<double>(memory_limit_bytes()))
    fail(table.where, fmt::format("{} x {} features are larger than the memory", matrix.rows, matrix.cols));
  table.values = Buffer<float>::zeros(static_cast<std::size_t>(matrix.rows * matrix.cols));
  for (std::size_t e = 0; e < matrix.edges.src.size(); ++e) {
    const auto at = static_cast<std::size_t>(matrix.edges.src[e]) * static_cast<std::size_t>(matrix.cols) +
                    static_cast<std::size_t>(matrix.edges.dst[e]);
    table.values[at] = matrix.pattern ? 1.0F : matrix.edges.weight[e];
  }
  return table;
}

/// The node of each row when nodes are numbered from 1 in the graph's file.
std::vector<NodeId> numbered_rows(const Table& table, std::int64_t nodes) {
  if (!table.keyed && table.rows != nodes) fail(table.where, fmt::format("{} rows for {} nodes", table.rows, nodes));
  std::vector<NodeId> row_of(static_cast<std::size_t>(table.rows));
  std::vector<bool> taken(static_cast<std::size_t>(nodes), false);
  for (std::size_t r = 0; r < row_of.size(); ++r) {
    std::int64_t id = static_cast<std::int64_t>(r) + 1;
    const bool good = (!table.keyed || parse_int(table.keys[r], &id)) && id >= 1 && id <= nodes &&
                      !taken[static_cast<std::size_t>(id - 1)];
    if (!good)
      fail(table.where,
           fmt::format("row {}: '{}' is no node of 1..{}, or has two rows", r + 1, excerpt(table.keys[r]), nodes));
    row_of[r] = static_cast<NodeId>(id - 1);
    taken[static_cast<std::size_t>(id - 1)] = true;
  }
  return row_of;
}

Labels multi_labels(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, LabelKind kind) {
  Labels labels;
  labels.kind = kind;
  labels.num_classes = table.cols;
  const auto width = static_cast<std::size_t>(table.cols);
  labels.targets = Buffer<float>(static_cast<std::size_t>(nodes) * width);
  std::fill(labels.targets.begin(), labels.targets.end(), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t r = 0; r < static_cast<std::size_t>(table.rows); ++r) {
    for (std::size_t c = 0; c < width; ++c) {
      const std::string& field = table.text[r * width + c];
      double value = std::numeric_limits<double>::quiet_NaN();
      const bool missing = field.empty() || lower(field) == "nan" || lower(field) == "na";
      if (!missing && !parse_real(field, &value))
        fail(table.where, fmt::format("row {}: '{}' is not a number", r + 1, excerpt(field)));
      if (kind == LabelKind::kMulti && !std::isnan(value) && value != 0 && value != 1) {
        fail(table.where,
             fmt::format("row {}: with several columns labels must be 0 or 1, got '{}'", r + 1, excerpt(field)),
             "one column of classes, or label_kind = regression");
      }
      labels.targets[static_cast<std::size_t>(row_of[r]) * width + c] = static_cast<float>(value);
    }
  }
  return labels;
}

Labels word_labels(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, bool whole,
                   std::vector<std::string>* class_names) {
  // Numbers sort by value, words by their bytes.
  std::map<std::pair<std::int64_t, std::string>, std::int32_t> ids;
  const auto key = [&](const std::string& field) {
    std::int64_t number = 0;
    if (whole) parse_int(field, &number);
    return std::pair{number, whole ? std::string() : field};
  };
  for (const std::string& field : table.text) {
    if (!is_missing(field)) ids.emplace(key(field), 0);
  }
  bool consecutive = whole;
  std::int32_t next = 0;
  for (auto& [name, id] : ids) {
    id = next++;
    consecutive = consecutive && name.first == id;
    class_names->push_back(whole ? std::to_string(name.first) : name.second);
  }
  if (consecutive) class_names->clear();
  Labels labels;
  labels.kind = LabelKind::kSingle;
  labels.num_classes = next;
  labels.classes = Buffer<std::int32_t>(static_cast<std::size_t>(nodes));
  std::fill(labels.classes.begin(), labels.classes.end(), -1);
  for (std::size_t r = 0; r < table.text.size(); ++r) {
    if (!is_missing(table.text[r])) labels.classes[static_cast<std::size_t>(row_of[r])] = ids.at(key(table.text[r]));
  }
  return labels;
}

}  // namespace

Table read_number_table(const std::filesystem::path& path) {
  if (path.extension() == ".mtx") return from_matrix(path);
  if (!is_npy(path)) return read_table(path, true);
  const NpyArray array = load_npy(path);
  Table table = from_array(array);
  table.values = to_floats(array);
  return table;
}

Table read_text_table(const std::filesystem::path& path) {
  if (!is_npy(path)) return read_table(path, false);
  const NpyArray array = load_npy(path);
  Table table = from_array(array);
  if (array.is_text()) {
    table.text = to_strings(array);
  } else if (array.is_integer()) {
    for (const std::int64_t value : to_int64(array)) table.text.push_back(std::to_string(value));
  } else {
    for (const float value : to_floats(array)) table.text.push_back(fmt::format("{}", value));
  }
  return table;
}

void place_features(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, Dataset* out) {
  Features& f = out->features;
  f.rows = nodes;
  f.cols = checked_node_count(table.cols, "feature columns", table.where);
  const auto width = static_cast<std::size_t>(f.cols);
  const double bytes = static_cast<double>(nodes) * static_cast<double>(f.cols) * sizeof(float);
  if (bytes > static_cast<double>(memory_limit_bytes())) {
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("features of {} x {} take {:.0f} bytes, more than the memory", nodes, f.cols, bytes),
                table.where);
  }
  f.dense = Buffer<float>::zeros(static_cast<std::size_t>(nodes) * width);
  for (std::size_t r = 0; r < row_of.size(); ++r) {
    std::copy_n(table.values.begin() + r * width, width, f.dense.begin() + static_cast<std::size_t>(row_of[r]) * width);
  }
  if (table.rows < nodes)
    out->notes.push_back(fmt::format("{} nodes have no row in the feature file: zeros", nodes - table.rows));
}

void attach_tables(const LoadOptions& options, std::int64_t nodes, Dataset* out) {
  if (!options.features_path.empty()) {
    const Table table = read_number_table(options.features_path);
    place_features(table, numbered_rows(table, nodes), nodes, out);
  }
  if (!options.labels_path.empty()) {
    const Table table = read_text_table(options.labels_path);
    out->labels = table_labels(table, numbered_rows(table, nodes), nodes, options.label_kind, &out->class_names);
  }
}

Labels table_labels(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, const std::string& kind,
                    std::vector<std::string>* class_names) {
  if (kind != "auto" && kind != "class" && kind != "regression") {
    throw Error(ErrorCode::kUsage, fmt::format("unknown label kind '{}'", kind), {}, "known: auto, class, regression");
  }
  if (table.cols > 1)
    return multi_labels(table, row_of, nodes, kind == "regression" ? LabelKind::kRegression : LabelKind::kMulti);
  bool whole = true;
  bool numeric = true;
  for (const std::string& field : table.text) {
    if (is_missing(field)) continue;
    double real;
    numeric = numeric && parse_real(field, &real);
    whole = whole && numeric && std::isfinite(real) && real == std::floor(real) && std::abs(real) < 0x1.0p53;
  }
  if (kind == "regression" || (kind == "auto" && numeric && !whole))
    return multi_labels(table, row_of, nodes, LabelKind::kRegression);
  std::int64_t exact;
  const bool integers = whole && std::all_of(table.text.begin(), table.text.end(), [&](const std::string& f) {
                          return is_missing(f) || parse_int(f, &exact);
                        });
  return word_labels(table, row_of, nodes, integers, class_names);
}

}  // namespace gneiss::data
