// Companion files of an edge list or matrix: features and labels, one row a node. Internal to this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/load.h"

namespace gneiss::data {

/// Rows of a text table, a .npy array or a Matrix Market array. A table is keyed when each of its rows names its node:
/// see table_columns.h; otherwise row r is node r.
struct Table {
  std::string where;
  std::int64_t rows = 0;
  std::int64_t cols = 0;  ///< without the key
  bool keyed = false;
  std::vector<std::string> keys;    ///< [rows] when keyed
  Buffer<float> values;             ///< [rows * cols] when numbers were asked for
  std::vector<std::string> text;    ///< [rows * cols] otherwise
  std::vector<std::string> names;   ///< [cols] from a header; or empty
  std::vector<std::int64_t> lines;  ///< [rows] of a text file
  std::string understood;           ///< how the columns were understood, in one line; empty for arrays
  std::vector<std::string> doubts;  ///< what is suspicious about it

  bool index = false;          ///< the keys come from a column without a name, which may only count the rows
  bool counted_first = false;  ///< no header, but the first row is 0, 1, 2, …: pandas' names of columns without names
  bool bare_pairs = false;     ///< two columns without names: the first was taken for ids
  std::int64_t blanks_after = 0;  ///< one column: empty lines at the end, rows if there are nodes for them

  std::string where_row(std::size_t row) const;
  /// "y.csv: …" for the notes of a data set; empty for arrays.
  std::string note() const;
  std::string two_rows_hint() const;
  /// Refuses a table whose rows are one more than there are nodes for, if its first row looks like pandas' header.
  /// Ids lie in 0..last.
  void check_first_row(std::int64_t last) const;
  /// Decides, once the edges are known, whether an index without a name holds ids: it does unless it only counts the
  /// rows; from 1, it holds ids if the edges' ids lie in 1..rows. Also takes empty lines at the end as rows, as far as
  /// there are ids for them: ids are `words`, or lie in first..last (last < first: there are none).
  void settle(bool words, std::int64_t first, std::int64_t last);
};

/// Reads a feature table: numbers. Text (plain or .gz) is read twice, so that memory is that of the result.
/// Errors: kBadData naming file and line; kUsage for columns that are not there.
Table read_number_table(const std::filesystem::path& path, const TableOptions& options);
/// Reads a label table as text. Errors: as above.
Table read_text_table(const std::filesystem::path& path, const TableOptions& options);

/// Reads one column of node ids, or a mask of 0 and 1, as text: a file of text or a .npy array. Of a text table with a
/// header, the column that --id-column names or that is named id, node, …, or else its only one but for an index.
/// Errors: as above.
Table read_id_list(const std::filesystem::path& path, const TableOptions& options);

/// Dense features of `nodes` nodes from a table whose row r belongs to node row_of[r]; nodes without a row get zeros,
/// and a note says how many.
void place_features(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, Dataset* out);

/// Original ids, features and labels from the options' files for a graph whose nodes are numbered 1..nodes in its own
/// file: plain rows in that order, or rows that begin with those numbers. Errors: kBadData naming the row.
void attach_tables(const LoadOptions& options, std::int64_t nodes, Dataset* out);

}  // namespace gneiss::data
