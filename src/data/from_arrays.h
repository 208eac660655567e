// A data set made of arrays that somebody holds in memory.
//
// Arrays are taken as NpyArray, so that they are converted and checked by the same code as those of files; `where` of
// each is the argument's name. What already has the type and order that training reads (dense features in f32 row by
// row; edges by destination with 64-bit offsets and ascending 32-bit sources) is not copied: the data set reads it
// where it lies and holds its keeper. Notes say what was copied.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/npy.h"

namespace gneiss::data {

/// An array of a caller and what keeps its memory.
struct GivenArray {
  NpyArray values;
  std::shared_ptr<const void> keeper;  ///< null: the memory may go when the call ends, so everything is copied
  bool packed = false;                 ///< `values` is a copy already, of elements that did not lie densely
};

/// Rows of a compressed matrix: entries of row r are indices[offsets[r] .. offsets[r + 1]).
struct GivenRows {
  std::optional<GivenArray> offsets;
  std::optional<GivenArray> indices;
  std::optional<GivenArray> values;

  bool given() const { return offsets.has_value() || indices.has_value() || values.has_value(); }
};

/// Arrays of a data set; those that are absent are not given.
struct GivenArrays {
  std::string name = "arrays";
  std::int64_t num_nodes = -1;            ///< -1: as the other arrays say
  std::optional<GivenArray> edge_index;   ///< [2, m]: sources, destinations
  std::optional<GivenArray> edge_weight;  ///< [m], of edge_index
  GivenRows out_edges;                    ///< row u lists the destinations of u (CSR of the adjacency matrix)
  GivenRows in_edges;                     ///< row v lists the sources of v (CSC of the adjacency matrix)
  std::optional<GivenArray> features;     ///< [n, width]
  GivenRows sparse_features;              ///< row v lists the columns of v
  std::int64_t feature_columns = 0;       ///< of sparse features
  std::optional<GivenArray> labels;       ///< [n] or [n, columns]
  std::string label_kind = "auto";        ///< auto, class, multi or regression
  std::optional<GivenArray> train;        ///< [n] of booleans, or node numbers; likewise the next two
  std::optional<GivenArray> val;
  std::optional<GivenArray> test;
  std::vector<std::string> class_names;
  int threads = 1;  ///< never changes a result
};

/// Makes the data set. Labels: one column of whole numbers are classes (-1 and -100: unlabelled), one of floats is a
/// regression; several columns of 0 and 1 are one class a node if each row has exactly one 1, else many labels; other
/// columns are a regression. NaN is unlabelled. Errors: kBadData naming the argument, the first element that is wrong,
/// and what to do; kUsage for arguments that do not go together.
Dataset from_arrays(GivenArrays arrays);

}  // namespace gneiss::data
