// Companion files of an edge list: features and labels, one row a node. Internal to this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/load.h"

namespace gneiss::data {

/// Rows of a text table or a .npy array. A table is keyed when its rows begin with a node id: when a header names the
/// first column id, node, node_id, …, or when a table without header is read with `two_columns_keyed` and has two
/// columns.
struct Table {
  std::string where;
  std::int64_t rows = 0;
  std::int64_t cols = 0;  ///< without the key
  bool keyed = false;
  std::vector<std::string> keys;  ///< [rows] when keyed
  Buffer<float> values;           ///< [rows * cols] when numbers were asked for
  std::vector<std::string> text;  ///< [rows * cols] otherwise
};

/// Reads a feature table: numbers. Text (plain or .gz; comma, semicolon, tab or blanks) is read twice, so that memory
/// is that of the result. Errors: kBadData naming file and line.
Table read_number_table(const std::filesystem::path& path);
/// Reads a label table as text. Errors: as above.
Table read_text_table(const std::filesystem::path& path);

/// Dense features of `nodes` nodes from a table whose row r belongs to node row_of[r]; nodes without a row get zeros,
/// and a note says how many.
void place_features(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, Dataset* out);

/// Features and labels from the options' files for a graph whose nodes are numbered 1..nodes in its own file: plain
/// rows in that order, or rows that begin with those numbers. Errors: kBadData naming the row.
void attach_tables(const LoadOptions& options, std::int64_t nodes, Dataset* out);

/// Labels of `nodes` nodes from a table whose row r belongs to node row_of[r]. `kind`: auto, class or regression. Whole
/// numbers or words in one column are classes (sorted, numbers by value); fractions make a regression; several columns
/// of 0, 1 and nothing are many labels. Empty, "nan", "na" and "-1" mean unlabelled.
Labels table_labels(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, const std::string& kind,
                    std::vector<std::string>* class_names);

}  // namespace gneiss::data
