// The Matrix Market parser. Internal to this folder.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/buffer.h"
#include "graph/graph.h"

namespace gneiss::data {

/// A matrix: entries (row -> column) of a coordinate file, or the row-major values of an array.
struct MatrixMarket {
  bool array = false;
  bool pattern = false;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  graph::EdgeList edges;
  Buffer<float> values;
};

/// Reads any matrix the format allows, but for complex and hermitian ones. An entry that is given twice is an error,
/// unless the caller `adds_up` the edges. Errors: kBadData naming file and line.
MatrixMarket parse_matrix_market(const std::filesystem::path& path, bool adds_up = false);

}  // namespace gneiss::data
