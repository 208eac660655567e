// What the first rows of a text table say about it: separator, header, decimal mark, columns. Internal to this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/load.h"

namespace gneiss::data {

/// What a table is read as; words mean different things in them ("target" is an edge's end or a node's label).
enum class TableKind : std::uint8_t { kEdges, kFeatures, kLabels };

/// What a field can be read as.
enum class FieldType : std::uint8_t {
  kMissing,  ///< empty, nan, na, null, …
  kWhole,    ///< 12, 12.0, 1.2e1
  kReal,
  kComma,  ///< 0,5: a number with a decimal comma
  kWord
};
FieldType field_type(std::string_view field);
/// Empty, nan, na, n/a, null, <na> in any case.
bool is_missing_word(std::string_view field);

/// Counts of the sampled rows' fields in one column.
struct ColumnFacts {
  std::int64_t missing = 0;
  std::int64_t whole = 0;
  std::int64_t real = 0;   ///< not whole
  std::int64_t comma = 0;  ///< with a decimal comma, when `decimal` is a point
  std::int64_t words = 0;

  std::int64_t numbers() const { return whole + real; }
  bool numeric() const { return words == 0 && comma == 0; }
};

struct TableHead {
  std::string where;
  TableKind kind = TableKind::kEdges;
  char separator = ' ';
  char decimal = '.';
  bool header = false;             ///< the first row names the columns
  bool trailing = false;           ///< a separator stands at the end of each row
  bool row_names = false;          ///< the header has no name for the first column: R's row names
  std::vector<std::string> names;  ///< [columns]; from the header, or the last comment; empty texts without
  bool named_by_comment = false;
  std::size_t columns = 0;
  std::vector<std::vector<std::string>> rows;  ///< the first rows, header left out
  std::vector<std::int64_t> lines;             ///< the line of each
  std::vector<ColumnFacts> facts;              ///< of `rows`
  std::vector<std::string> comments;           ///< before the first row, without # or %
  bool konect = false;                         ///< the first comment is KONECT's: % sym, asym or bip
  bool undirected = false;                     ///< the file says that its graph is
  bool attributes = false;                     ///< NetworkX's {…} stands behind each row
  std::vector<std::string> attribute_texts;    ///< they, for `rows`
  bool whole_file = false;                     ///< `rows` are all rows

  bool named() const { return header || named_by_comment; }
  /// "'src' (column 2)" or "column 2".
  std::string column_text(std::size_t column) const;
  /// "separator ',', header" and what else is common to all tables.
  std::string summary() const;
  std::string where_row(std::size_t row) const;
};

/// Reads the first rows. Errors: kUsage for unknown separators and decimals; kBadData when the file is no table:
/// binary, another format (named, with the remedy), rows of different lengths, no separator to be found.
TableHead read_head(const std::filesystem::path& path, TableKind kind, const TableOptions& options);

/// A number with the table's decimal mark.
bool parse_number(std::string_view field, char decimal, double* value);

/// True if the table has a column of this name or number.
bool has_column(const TableHead& head, const std::string& column);

/// The column with this name or, from 1, this number. Errors: kUsage listing what there is; `flag` names the option.
std::size_t find_column(const TableHead& head, const std::string& column, const char* flag);

/// True if the column holds 0, 1, 2, … or 1, 2, 3, … in the sampled rows, of which there are at least `least`.
bool counts_rows(const TableHead& head, std::size_t column, std::size_t least, std::int64_t* first);

}  // namespace gneiss::data
