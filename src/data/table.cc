// Two passes: the first finds the separator, the header and the number of rows, the second reads the numbers.
#include "data/table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/process.h"
#include "data/foreign_text.h"
#include "data/labels.h"
#include "data/matrix_market.h"
#include "data/npy.h"
#include "data/readers.h"
#include "data/row_reader.h"
#include "data/table_columns.h"
#include "data/table_head.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

/// A text table while it is read.
class Reader {
 public:
  Reader(const std::filesystem::path& path, TableKind kind, const TableOptions& options)
      : path_(path), head_(read_head(path, kind, options)), numbers_(kind == TableKind::kFeatures) {
    if (head_.columns == 0) fail(path.string(), "the table is empty");
    if (head_.rows.empty()) fail(path.string(), "the table has a header and no row");
    columns_ = choose_table_columns(head_, options);
  }

  Table read() {
    table_.where = path_.string();
    table_.keyed = columns_.key != kNoColumn;
    table_.index = columns_.index;
    table_.bare_pairs = columns_.bare_pairs;
    table_.cols = static_cast<std::int64_t>(
        numbers_ ? std::accumulate(columns_.widths.begin(), columns_.widths.end(), std::size_t{0})
                 : columns_.values.size());
    table_.understood = columns_.text;
    table_.doubts = columns_.doubts;
    table_.counted_first = columns_.counted_first;
    const bool plain = table_.cols == static_cast<std::int64_t>(columns_.values.size());
    if (head_.header && plain) {
      for (const std::size_t c : columns_.values) table_.names.push_back(head_.names[c]);
    }
    if (numbers_) table_.values = Buffer<float>(static_cast<std::size_t>(count_rows() * table_.cols));
    RowReader rows(path_, head_.separator);
    prepare(&rows);
    while (rows.next()) take(rows);
    table_.blanks_after = blanks_are_rows() ? rows.blank_lines() : 0;
    table_.rows = rows_;
    if (static_cast<std::size_t>(rows_ * table_.cols) != (numbers_ ? at_ : table_.text.size()))
      fail(table_.where, "the file changed while it was read");
    return std::move(table_);
  }

 private:
  void prepare(RowReader* rows) const {
    rows->expect(head_.columns, head_.trailing);
    if (head_.header) rows->skip_row();
  }

  std::int64_t count_rows() const {
    RowReader rows(path_, head_.separator);
    prepare(&rows);
    std::int64_t count = 0;
    while (rows.next()) ++count;
    return count;
  }

  /// In one column of labels an empty line is a node without a label.
  bool blanks_are_rows() const { return head_.columns == 1 && !numbers_; }

  /// Rows without ids stand for the nodes in their order, so an empty line among them shifts all that follow.
  void check_blanks(const RowReader& rows) {
    const std::int64_t blanks = rows.blank_lines();
    if (blanks == 0 || table_.keyed) return;
    const bool leading = rows_ == 0 && (head_.header || !head_.comments.empty());
    if (blanks_are_rows() && !leading) {
      for (std::int64_t i = 0; i < blanks; ++i) {
        table_.text.emplace_back();
        table_.lines.push_back(rows.line_number() - blanks + i);
        ++rows_;
      }
      return;
    }
    if (rows_ == 0) return;
    fail(rows.where(), "an empty line stands between rows: does it belong to a node?",
         "row r is node r: delete the line, or write the node's row");
  }

  /// Files put one behind the other have their headers within.
  void check_header(const RowReader& rows) const {
    const auto fields = rows.fields();
    if (head_.header && std::equal(head_.names.begin(), head_.names.end(), fields.begin(), fields.end()))
      fail(rows.where(), "the header stands here again", "were two files put together? Delete the line");
  }

  void take(const RowReader& rows) {
    check_blanks(rows);
    check_header(rows);
    const auto fields = rows.fields();
    if (table_.keyed) table_.keys.emplace_back(fields[columns_.key]);
    for (std::size_t i = 0; i < columns_.values.size(); ++i) {
      const std::size_t c = columns_.values[i];
      if (!numbers_) {
        table_.text.emplace_back(head_.decimal == ',' ? with_point(fields[c]) : std::string(fields[c]));
        continue;
      }
      if (columns_.widths[i] != 1) {
        take_list(rows, c, columns_.widths[i]);
        continue;
      }
      double value = 0;
      if (at_ == table_.values.size()) fail(rows.where(), "the file grew while it was read");
      if (!parse_number(fields[c], head_.decimal, &value) && !parse_truth(fields[c], &value))
        fail(rows.where(), fmt::format("expected a number in field {}, got '{}'", c + 1, excerpt(fields[c])),
             "features are numbers; --decimal comma if 0,5 means a half");
      table_.values[at_++] = static_cast<float>(value);
    }
    table_.lines.push_back(rows.line_number());
    ++rows_;
  }

  void take_list(const RowReader& rows, std::size_t c, std::size_t width) {
    const std::string_view field = rows.fields()[c];
    if (!parse_list(field, &list_) || list_.size() != width)
      fail(rows.where(),
           fmt::format("expected a list of {} numbers in field {}, got '{}'", width, c + 1, excerpt(field)),
           "every row needs as many numbers, between commas or blanks");
    if (at_ + width > table_.values.size()) fail(rows.where(), "the file grew while it was read");
    for (const double number : list_) table_.values[at_++] = static_cast<float>(number);
  }

  static std::string with_point(std::string_view field) {
    double value;
    std::string pointed(field);
    std::replace(pointed.begin(), pointed.end(), ',', '.');
    return parse_real(pointed, &value) ? pointed : std::string(field);
  }

  std::filesystem::path path_;
  TableHead head_;
  bool numbers_;
  TableColumns columns_;
  Table table_;
  std::vector<double> list_;
  std::int64_t rows_ = 0;
  std::size_t at_ = 0;
};

enum class Content : std::uint8_t { kText, kNpy, kMatrixMarket };

/// What a companion file is, by its first bytes.
Content content_of(const std::filesystem::path& path) {
  const std::string head = first_bytes(path, 512);
  if (head.starts_with("\x93NUMPY")) {
    const MappedFile file(path);
    if (file.text().starts_with("\x1f\x8b"))
      fail(path.string(), "a packed .npy array is not read", "unpack it first: gunzip FILE");
    return Content::kNpy;
  }
  if (const auto foreign = foreign_bytes(head); foreign && head.starts_with("PK"))
    fail(path.string(), foreign->format + " is no table", foreign->remedy);
  if (head.starts_with("PK"))
    fail(path.string(), "an archive (.npz or .zip) is no table", "save the array alone as .npy (np.save), or as CSV");
  return head.starts_with("%%MatrixMarket") ? Content::kMatrixMarket : Content::kText;
}

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
std::vector<NodeId> numbered_rows(Table* table, std::int64_t nodes) {
  table->settle(false, 1, nodes);
  if (!table->keyed && table->rows != nodes)
    fail(table->where, fmt::format("{} rows for {} nodes", table->rows, nodes),
         table->rows == nodes + 1 ? "is the first row a header? Delete it, or give it words as names" : "");
  std::vector<NodeId> row_of(static_cast<std::size_t>(table->rows));
  std::vector<bool> taken(static_cast<std::size_t>(nodes), false);
  for (std::size_t r = 0; r < row_of.size(); ++r) {
    std::int64_t id = static_cast<std::int64_t>(r) + 1;
    const bool good = (!table->keyed || parse_whole(table->keys[r], &id)) && id >= 1 && id <= nodes &&
                      !taken[static_cast<std::size_t>(id - 1)];
    if (!good)
      fail(table->where_row(r),
           fmt::format("row {}: '{}' is no node of 1..{}, or has two rows", r + 1, excerpt(table->keys[r]), nodes),
           table->two_rows_hint());
    row_of[r] = static_cast<NodeId>(id - 1);
    taken[static_cast<std::size_t>(id - 1)] = true;
  }
  return row_of;
}

}  // namespace

std::string Table::where_row(std::size_t row) const {
  return row < lines.size() ? fmt::format("{}:{}", where, lines[row]) : where;
}

std::string Table::note() const {
  if (understood.empty()) return {};
  return fmt::format("{}: {}", std::filesystem::path(where).filename().string(), understood);
}

std::string Table::two_rows_hint() const {
  return bare_pairs ? "of two columns without names the first holds ids; if both are labels, name them in a header, "
                      "such as a,b"
                    : "";
}

void Table::check_first_row(std::int64_t last) const {
  if (!counted_first || keyed || last < 0 || rows != last + 2) return;
  fail(where_row(0),
       fmt::format("is the first row a header, as pandas writes it for columns without names? There are {} rows, and "
                   "the edges have ids up to {}",
                   rows, last),
       "write words as names: label, or f0,f1,…; if node " + std::to_string(last + 1) +
           " exists and has no edge, write such a header over the rows");
}

void Table::settle(bool words, std::int64_t first, std::int64_t last) {
  if (index) {
    bool counts = true;
    std::int64_t start = 0;
    for (std::size_t r = 0; r < keys.size() && counts; ++r) {
      std::int64_t key = 0;
      counts = parse_whole(keys[r], &key) && (r == 0 || key == start + static_cast<std::int64_t>(r));
      if (r == 0) start = key;
    }
    const bool ids = !words && start == 1 && first >= 1 && last <= rows;
    if (counts && (start == 0 || start == 1) && !ids) {
      keyed = false;
      keys.clear();
      understood += " that counts the rows and is left out: row r is node r";
    } else {
      understood += " and names the node";
    }
    index = false;
  }
  for (; !keyed && !words && blanks_after > 0 && rows <= last; --blanks_after) {
    text.emplace_back();
    ++rows;
  }
}

Table read_number_table(const std::filesystem::path& path, const TableOptions& options) {
  const Content content = content_of(path);
  if (content == Content::kText) return Reader(path, TableKind::kFeatures, options).read();
  if (content == Content::kMatrixMarket) return from_matrix(path);
  const NpyArray array = load_npy(path);
  Table table = from_array(array);
  table.values = to_floats(array);
  return table;
}

Table read_text_table(const std::filesystem::path& path, const TableOptions& options) {
  if (content_of(path) != Content::kNpy) return Reader(path, TableKind::kLabels, options).read();
  const NpyArray array = load_npy(path);
  Table table = from_array(array);
  if (array.is_text()) {
    table.text = to_strings(array);
  } else if (array.is_integer()) {
    for (const std::int64_t value : to_int64(array)) table.text.push_back(std::to_string(value));
  } else if (array.type == DType::kF64) {
    for (const double value : to_doubles(array)) table.text.push_back(fmt::format("{}", value));
  } else {
    for (const float value : to_floats(array)) table.text.push_back(fmt::format("{}", value));
  }
  return table;
}

Table read_id_list(const std::filesystem::path& path, const TableOptions& options) {
  TableOptions columns = options;
  columns.label_column = options.id_column;
  columns.id_column.clear();
  columns.header.reset();
  Table table = read_text_table(path, columns);
  if (table.cols != 1 || (table.keyed && !table.index))
    fail(table.where, fmt::format("expected one column, ids or a mask, got {}", table.cols + (table.keyed ? 1 : 0)),
         "--id-column names it");
  return table;
}

void place_features(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, Dataset* out) {
  Features& f = out->features;
  f.rows = nodes;
  f.cols = checked_node_count(table.cols, "feature columns", table.where);
  out->feature_names = table.names;
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
  out->orig_id.resize(static_cast<std::size_t>(nodes));
  std::iota(out->orig_id.begin(), out->orig_id.end(), 1);
  const auto remember = [&](const Table& table) {
    if (!table.understood.empty()) out->notes.push_back(table.note());
    out->doubts.insert(out->doubts.end(), table.doubts.begin(), table.doubts.end());
  };
  if (!options.features_path.empty()) {
    Table table = read_number_table(options.features_path, options.tables);
    const std::vector<NodeId> row_of = numbered_rows(&table, nodes);
    remember(table);
    place_features(table, row_of, nodes, out);
  }
  if (!options.labels_path.empty()) {
    Table table = read_text_table(options.labels_path, options.tables);
    const std::vector<NodeId> row_of = numbered_rows(&table, nodes);
    remember(table);
    out->labels = table_labels(table, row_of, nodes, options.label_kind, out);
  }
}

}  // namespace gneiss::data
