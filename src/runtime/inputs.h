// What a plan runs on in one step: views of graphs, features and labels, and the rows that losses count.
//
// Inputs own nothing. A full graph makes them once; a mini-batch, a rank or a device fills them anew for each step.
// What the views point at must stay until the next bind.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/half.h"
#include "base/ids.h"
#include "base/matrix_view.h"

namespace gneiss::runtime {

/// One given graph of the program.
struct GraphInput {
  SparsePattern in_edges;          ///< row by row of destinations
  SparsePattern out_edges;         ///< its transpose; of a graph that changes only, and only if the plan walks it
  std::span<const float> weights;  ///< [edges] in the order of the in-edges; empty: all ones
};

/// The features of the nodes of the program's input, in exactly one of three forms.
struct FeatureInput {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::span<const float> dense;           ///< [rows * cols] row-major
  HalfType dtype = HalfType::kNone;       ///< of `halves`
  std::span<const std::uint16_t> halves;  ///< [rows * cols] row-major
  bool is_sparse = false;
  SparsePattern sparse;           ///< [rows, cols]
  std::span<const float> values;  ///< [stored entries] of `sparse`
};

/// Nodes with labels.
struct LabelledRows {
  std::span<const std::int32_t> classes;  ///< by row, -1: none
  ConstMatrixView<float> targets;         ///< or targets by row, NaN: none
  std::span<const NodeId> rows;           ///< ascending: those that count
};

/// The parts of the nodes that are scored apart, by their labels in Inputs::validation.
struct ScoredRows {
  std::span<const NodeId> training;
  std::span<const NodeId> validation;
  std::span<const NodeId> test;
};

struct Inputs {
  std::vector<GraphInput> graphs;  ///< by number in the program; derived graphs are empty or left out
  FeatureInput features;
  ConstMatrixView<float> constants;  ///< of the program's other input, "constants": what was computed of the full graph
  std::vector<std::span<const std::int64_t>> row_ids;  ///< by node set: what keys random draws; empty: the row itself
  LabelledRows training;                               ///< of the rows of "train_logits"
  LabelledRows validation;                             ///< of the rows of "logits"
  ScoredRows scored;                                   ///< of the rows of "logits"; empty: scored elsewhere
  std::span<const float> class_weights;                ///< [classes] or empty
};

}  // namespace gneiss::runtime
