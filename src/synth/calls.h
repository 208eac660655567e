// From an op of a plan to the text of kernel calls: what kernels/call.cc binds, in C++. Every backend declares its
// kernels over the same argument structs, so all targets share this.
#pragma once

#include <string>
#include <vector>

#include "base/space.h"
#include "ir/plan.h"
#include "synth/names.h"
#include "synth/text.h"

namespace gneiss::synth {

/// A call of a kernel on an argument struct.
struct Call {
  std::string kernel;             ///< "spmm"
  std::string args;               ///< "SpmmArgs"
  std::vector<Field> fields;      ///< in the order of the struct; members left out have a default
  std::string element = "float";  ///< what the struct, and a function that is a template, is of
};

/// Is the loss taken of rows that were made for it, instead of all nodes'?
bool counts_rows_alone(const ir::Program& program);

/// Is the loss taken of a matrix of targets, instead of one class a node?
bool has_targets(const ir::Program& program);

/// The calls that an op becomes: one, for concat one an operand; none for leaves (constant, edge_weight, degree), which
/// are filled. Values are members of `p`: p.h; edges p.in_edges_graph, p.out_edges_graph, p.in_tiles_graph,
/// p.out_tiles_graph; features' patterns p.feature_rows and p.feature_columns; of the loss p.dataset.labels and
/// p.dataset.split.train, or p.loss_labels and p.loss_rows; p.labelled of targets. On a device the loss is taken of
/// p.training and p.validation, p.class_weights and p.ids lie there, and what keys draws is left out: kernels read it
/// from the numbers of a step.
std::vector<Call> calls_of(const ir::Plan& plan, const Specification& specification, const Names& names,
                           const ir::Op& op, Space space = Space::kHost);

}  // namespace gneiss::synth
