// A data set as the inputs of a plan over its whole graph.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "ir/plan.h"
#include "runtime/inputs.h"

namespace gneiss::train {

/// Views of a data set, and what has to be copied of it: the labels of the training nodes alone, where the plan takes
/// the loss of them alone.
class DatasetInputs {
 public:
  /// `dataset`, `class_weights` and `ids` must outlive this; the views are of the arrays that they have now. `ids`: of
  /// a rank of several, what keys the draws of its own nodes and then of its ghosts; the plan's second node set are
  /// both.
  DatasetInputs(const data::Dataset& dataset, const ir::Plan& plan, std::span<const float> class_weights = {},
                std::span<const std::int64_t> ids = {});
  DatasetInputs(const DatasetInputs&) = delete;
  DatasetInputs& operator=(const DatasetInputs&) = delete;

  const runtime::Inputs& inputs() const { return inputs_; }

 private:
  runtime::Inputs inputs_;
  data::Labels loss_labels_;
  std::vector<NodeId> loss_rows_;
  data::Split labelled_;
};

}  // namespace gneiss::train
