// Matrix Market text: a square coordinate matrix is a graph (entry i j = edge i -> j), an array is a feature table.
//
// coordinate or array; real, double, integer or pattern; general, symmetric or skew-symmetric (the stored triangle is
// mirrored); 1-based ids. Complex and hermitian are refused by name, as are duplicates (unless they are to be
// added up) and whatever contradicts the
// header. LAGraph's comment "%%GraphBLAS type T" is honoured: values must lie in T. Source: Boisvert, Pozo, Remington:
// The Matrix Market exchange formats, NISTIR 5935, 1996.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/matrix_market.h"
#include "data/readers.h"
#include "data/table.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

struct ValueType {
  std::string_view name;
  double low;
  double high;
  bool whole;
};
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr ValueType kTypes[] = {{"bool", 0, 1, true},
                                {"int8_t", -0x1p7, 0x1p7 - 1, true},
                                {"int16_t", -0x1p15, 0x1p15 - 1, true},
                                {"int32_t", -0x1p31, 0x1p31 - 1, true},
                                {"int64_t", -0x1p63, 0x1p63, true},
                                {"uint8_t", 0, 0x1p8 - 1, true},
                                {"uint16_t", 0, 0x1p16 - 1, true},
                                {"uint32_t", 0, 0x1p32 - 1, true},
                                {"uint64_t", 0, 0x1p64, true},
                                {"float", -kInf, kInf, false},
                                {"double", -kInf, kInf, false}};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

class Parser {
 public:
  Parser(const std::filesystem::path& path, bool adds_up)
      : lines_(path), path_(path.string()), file_bytes_(std::filesystem::file_size(path)), adds_up_(adds_up) {}

  MatrixMarket parse() {
    header();
    sizes();
    if (matrix_.array) {
      array_values();
    } else {
      coordinates();
    }
    std::string_view line;
    if (content_line(&line)) fail(fmt::format("all entries are read, but '{}' follows", excerpt(line)));
    return std::move(matrix_);
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const {
    throw Error(ErrorCode::kBadData, message, lines_.where(), hint);
  }

  void header() {
    std::string_view line;
    if (!lines_.next(&line)) fail("the file is empty");
    std::vector<std::string> words;
    std::string_view rest = line;
    std::string_view field;
    while (next_field(' ', &rest, &field)) words.push_back(lower(field));
    if (words.empty() || words[0] != "%%matrixmarket")
      fail("expected the header %%MatrixMarket matrix …", "is this a Matrix Market file?");
    if (words.size() != 5) fail(fmt::format("expected five words in the header, got {}", words.size()));
    if (words[1] != "matrix") fail(fmt::format("expected 'matrix', got '{}'", excerpt(words[1])));
    if (words[2] != "coordinate" && words[2] != "array")
      fail(fmt::format("expected coordinate or array, got '{}'", excerpt(words[2])));
    if (words[3] == "complex") fail("complex matrices are not read");
    if (words[3] != "real" && words[3] != "double" && words[3] != "integer" && words[3] != "pattern") {
      fail(fmt::format("expected real, integer or pattern, got '{}'", excerpt(words[3])));
    }
    if (words[4] == "hermitian") fail("hermitian matrices are not read");
    if (words[4] != "general" && words[4] != "symmetric" && words[4] != "skew-symmetric") {
      fail(fmt::format("expected general, symmetric or skew-symmetric, got '{}'", excerpt(words[4])));
    }
    matrix_.array = words[2] == "array";
    matrix_.pattern = words[3] == "pattern";
    whole_ = words[3] == "integer";
    symmetric_ = words[4] != "general";
    skew_ = words[4] == "skew-symmetric";
    if (matrix_.array && matrix_.pattern) fail("an array cannot be a pattern");
  }

  /// The next line that is neither blank nor a comment.
  bool content_line(std::string_view* line) {
    while (lines_.next(line)) {
      const std::string_view text = trim(*line);
      if (text.starts_with("%%GraphBLAS")) graphblas_type(text);
      if (!text.empty() && text[0] != '%') return true;
    }
    return false;
  }

  void graphblas_type(std::string_view text) {
    std::vector<std::string> words;
    std::string_view field;
    while (next_field(' ', &text, &field)) words.push_back(lower(field));
    if (words.size() < 3 || words[1] != "type") return;
    for (const ValueType& type : kTypes) {
      if (type.name == words[2] && words.size() == 3) {
        type_ = &type;
        if (skew_ && type.low == 0) fail(fmt::format("a skew-symmetric matrix cannot hold {}", type.name));
        return;
      }
    }
    fail(fmt::format("unknown GraphBLAS type '{}'",
                     excerpt(fmt::format("{}", fmt::join(words.begin() + 2, words.end(), " ")))));
  }

  std::int64_t count(std::string_view field) const {
    std::int64_t value;
    if (!parse_int(field, &value) || value < 0) fail(fmt::format("expected a count, got '{}'", excerpt(field)));
    return value;
  }

  void sizes() {
    std::string_view line;
    if (!content_line(&line)) fail("the file ends before the line of sizes");
    std::vector<std::int64_t> numbers;
    std::string_view rest = line;
    std::string_view field;
    while (next_field(' ', &rest, &field)) numbers.push_back(count(field));
    const std::size_t expected = matrix_.array ? 2 : 3;
    if (numbers.size() != expected)
      fail(fmt::format("expected {}, got {} numbers", matrix_.array ? "rows and columns" : "rows, columns and entries",
                       numbers.size()));
    matrix_.rows = checked_node_count(numbers[0], "rows", lines_.where());
    matrix_.cols = checked_node_count(numbers[1], "columns", lines_.where());
    if (symmetric_ && matrix_.rows != matrix_.cols)
      fail(fmt::format("a symmetric matrix must be square, this is {} x {}", matrix_.rows, matrix_.cols));
    const std::int64_t n = matrix_.rows;
    entries_ =
        matrix_.array ? (symmetric_ ? (skew_ ? n * (n - 1) / 2 : n * (n + 1) / 2) : n * matrix_.cols) : numbers[2];
    // An entry takes at least two bytes ("1\n"), and gzip packs at most 1032 to 1.
    const double ratio = lines_.packed() ? 1032 : 1;
    if (2 * static_cast<double>(entries_) > static_cast<double>(file_bytes_) * ratio + 2) {
      fail(fmt::format("{} entries cannot be in a file of {} bytes", entries_, file_bytes_));
    }
  }

  float value(std::string_view field) const {
    double number;
    if (!parse_real(field, &number))
      fail(fmt::format("expected a number, got '{}'", excerpt(field)), "a power of ten is written with E: 1.5E+01");
    const bool fraction = std::isfinite(number) && number != std::floor(number);
    if (whole_ && fraction) fail(fmt::format("an integer matrix holds '{}'", excerpt(field)));
    if (type_ != nullptr && !std::isnan(number)) {
      const bool inside = number >= type_->low && number <= type_->high && !(type_->whole && fraction);
      if (!inside) fail(fmt::format("'{}' is no {}", excerpt(field), type_->name));
    }
    return static_cast<float>(number);
  }

  NodeId coordinate(std::string_view field, std::int64_t bound, const char* what) const {
    std::int64_t id;
    if (!parse_int(field, &id)) fail(fmt::format("expected a {}, got '{}'", what, excerpt(field)));
    if (id < 1 || id > bound) fail(fmt::format("{} {} is outside 1..{}", what, id, bound));
    return static_cast<NodeId>(id - 1);
  }

  void coordinates() {
    const auto size = static_cast<std::size_t>(entries_ <= static_cast<std::int64_t>(file_bytes_) ? entries_ : 0);
    std::vector<NodeId> rows;
    std::vector<NodeId> cols;
    std::vector<float> values;
    rows.reserve(size);
    cols.reserve(size);
    const std::size_t fields = matrix_.pattern ? 2 : 3;
    for (std::int64_t e = 0; e < entries_; ++e) {
      std::string_view line;
      if (!content_line(&line)) fail(fmt::format("the file ends after {} of {} entries", e, entries_));
      std::string_view part[4];
      std::size_t got = 0;
      while (got < 4 && next_field(' ', &line, &part[got])) ++got;
      if (got != fields) fail(fmt::format("expected {} numbers, got {}", fields, got));
      const NodeId r = coordinate(part[0], matrix_.rows, "row");
      const NodeId c = coordinate(part[1], matrix_.cols, "column");
      const float v = matrix_.pattern ? 1.0F : value(part[2]);
      if (skew_ && r == c && v != 0) fail("a skew-symmetric matrix has zeros on its diagonal");
      const auto put = [&](NodeId row, NodeId col, float number) {
        rows.push_back(row);
        cols.push_back(col);
        if (!matrix_.pattern) values.push_back(number);
      };
      put(r, c, v);
      if (symmetric_ && r != c) put(c, r, skew_ ? -v : v);
    }
    if (!adds_up_) check_duplicates(rows, cols);
    matrix_.edges = {Buffer<NodeId>::copy_of(rows), Buffer<NodeId>::copy_of(cols), Buffer<float>::copy_of(values)};
  }

  void check_duplicates(const std::vector<NodeId>& rows, const std::vector<NodeId>& cols) const {
    std::vector<std::uint64_t> keys(rows.size());
    for (std::size_t e = 0; e < keys.size(); ++e)
      keys[e] = static_cast<std::uint64_t>(rows[e]) << 32 | static_cast<std::uint32_t>(cols[e]);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) {
      const auto row = static_cast<std::int64_t>(*twice >> 32) + 1;
      const auto col = static_cast<std::int64_t>(*twice & 0xFFFFFFFF) + 1;
      throw Error(
          ErrorCode::kBadData, fmt::format("entry {} {} is given twice", row, col), second_line(row, col),
          "a Matrix Market file holds each entry once, and of a symmetric matrix only one triangle; --coalesce adds "
          "up what is given twice");
    }
  }

  /// Where an entry, or its mirror image, is given for the second time.
  std::string second_line(std::int64_t row, std::int64_t col) const {
    LineReader lines(path_);
    std::string_view line;
    bool past_sizes = false;
    int found = 0;
    while (lines.next(&line)) {
      const std::string_view text = trim(line);
      if (text.empty() || text[0] == '%' || !std::exchange(past_sizes, true)) continue;
      std::string_view rest = text;
      std::string_view first;
      std::string_view second;
      std::int64_t r = 0;
      std::int64_t c = 0;
      next_field(' ', &rest, &first);
      next_field(' ', &rest, &second);
      parse_int(first, &r);
      parse_int(second, &c);
      const bool same = (r == row && c == col) || (symmetric_ && r == col && c == row);
      if (same && ++found == 2) break;
    }
    return lines.where();
  }

  /// Column by column, of a symmetric matrix the lower triangle.
  void array_values() {
    const auto cols = static_cast<std::size_t>(matrix_.cols);
    matrix_.values = Buffer<float>::zeros(static_cast<std::size_t>(matrix_.rows) * cols);
    for (std::int64_t c = 0; c < matrix_.cols; ++c) {
      for (std::int64_t r = symmetric_ ? c + (skew_ ? 1 : 0) : 0; r < matrix_.rows; ++r) {
        std::string_view line;
        if (!content_line(&line)) fail(fmt::format("the file ends before column {}, row {}", c + 1, r + 1));
        std::string_view field;
        std::string_view more;
        if (!next_field(' ', &line, &field) || next_field(' ', &line, &more)) fail("expected one number");
        const float v = value(field);
        matrix_.values[static_cast<std::size_t>(r) * cols + static_cast<std::size_t>(c)] = v;
        if (symmetric_)
          matrix_.values[static_cast<std::size_t>(c) * cols + static_cast<std::size_t>(r)] = skew_ ? -v : v;
      }
    }
  }

  LineReader lines_;
  std::string path_;
  std::uint64_t file_bytes_;
  bool adds_up_;  ///< entries that are given twice are no mistake
  MatrixMarket matrix_;
  std::int64_t entries_ = 0;
  bool whole_ = false;
  bool symmetric_ = false;
  bool skew_ = false;
  const ValueType* type_ = nullptr;
};

}  // namespace

MatrixMarket parse_matrix_market(const std::filesystem::path& path, bool adds_up) {
  return Parser(path, adds_up).parse();
}

Dataset read_matrix_market(const std::filesystem::path& path, const LoadOptions& options) {
  MatrixMarket matrix = parse_matrix_market(path, options.coalesce);
  if (matrix.array) {
    throw Error(ErrorCode::kBadData, fmt::format("a dense array of {} x {} is no graph", matrix.rows, matrix.cols),
                path.string(), "use it as --features of an edge list or coordinate matrix");
  }
  if (matrix.rows != matrix.cols) {
    throw Error(ErrorCode::kBadData,
                fmt::format("a graph needs a square matrix, this is {} x {}", matrix.rows, matrix.cols), path.string());
  }
  Dataset out;
  out.name = stem_of(path);
  out.format = "matrix-market";
  out.num_splits = 0;
  const std::int64_t nodes = matrix.rows;
  out.graph = make_graph(std::move(matrix.edges), nodes, options, {}, path.string(), &out.notes);
  attach_tables(options, nodes, &out);
  return out;
}

}  // namespace gneiss::data
