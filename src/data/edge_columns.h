// Which columns of a table of edges are what. Internal to this folder.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "data/table_head.h"

namespace gneiss::data {

constexpr std::size_t kNoColumn = std::numeric_limits<std::size_t>::max();

struct EdgeColumns {
  std::size_t source = 0;
  std::size_t target = 1;
  std::size_t weight = kNoColumn;
  bool words = false;               ///< ids are words
  bool attribute_weights = false;   ///< weights stand in NetworkX's attributes
  bool undirected = false;          ///< the file says that its graph is
  std::string text;                 ///< how the file was understood, in one line
  std::vector<std::string> doubts;  ///< what is suspicious about it
};

/// Finds both ends and the weight: by the options, by names, or, without names, the first two columns and a third that
/// can be a weight. Errors: kBadData when the columns cannot be told, or hold what no id can be, with what to do.
EdgeColumns choose_edge_columns(const TableHead& head, const LoadOptions& options);

}  // namespace gneiss::data
