// What labels mean, one rule for all sources. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/table.h"

namespace gneiss::data {

/// True for the class numbers that mean "unlabelled": -1, and -100 as PyTorch's losses have it.
constexpr bool is_unlabelled(std::int64_t number) { return number == -1 || number == -100; }

/// Labels of `nodes` nodes from a table whose row r belongs to node row_of[r]. `kind`: auto, class, multi or
/// regression. Numbers without fractions, and words, in one column are classes: numbers by value (1 and 1.0 are one
/// class), then words by bytes; fractions make a regression. Several columns of 0 and 1 are one class a node if every
/// row has exactly one 1, else many labels. Empty fields, nan, na and null, and for classes -1 and -100, mean
/// unlabelled. Fills class_names, notes and doubts of `out`. Errors: kBadData naming the row; kUsage for an unknown
/// kind.
Labels table_labels(const Table& table, const std::vector<NodeId>& row_of, std::int64_t nodes, const std::string& kind,
                    Dataset* out);

}  // namespace gneiss::data
