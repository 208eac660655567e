// Which columns of a feature or label table are what. Internal to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data/edge_columns.h"
#include "data/table_head.h"

namespace gneiss::data {

struct TableColumns {
  std::size_t key = kNoColumn;      ///< the node of a row
  bool index = false;               ///< the key has no name and may only count the rows
  bool counted_first = false;       ///< no header, and the first row is 0, 1, 2, …
  bool bare_pairs = false;          ///< the key is the first of two columns without names
  std::vector<std::size_t> values;  ///< features, or labels
  std::vector<std::size_t> widths;  ///< of the values: how many numbers a field holds, 1 but for lists
  std::string text;                 ///< how the table was understood, in one line
  std::vector<std::string> doubts;
};

/// 1 or 0 for True and False as pandas and R write them; false for other fields.
bool parse_truth(std::string_view field, double* number);

/// The numbers of a field that holds a list of them, such as "0.1,0.2" or [0.1 0.2]; false if it is none.
bool parse_list(std::string_view field, std::vector<double>* numbers);

/// The key is the column that --id-column names, or one named id, node, …, or the index that pandas and R write without
/// a name. Features are all other columns but labels, words that are no numbers having to be known by name (name,
/// type, time). Labels are the column that --label-column names, the one named label, class, y, …, or all that are
/// left. Errors: kBadData when words stand where numbers should, or nobody can tell which column is the label.
TableColumns choose_table_columns(const TableHead& head, const TableOptions& options);

}  // namespace gneiss::data
