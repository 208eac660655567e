// How predictions meet labels, counted on a device.
#pragma once

#include <cstdint>

#include "base/matrix_view.h"

namespace gneiss::kernels {

template <class T, Space S>
struct CountScoresArgs {
  ConstMatrixView<T, S> logits;
  SpanIn<const std::int32_t, S> labels;  ///< one class a node, -1: none; or
  ConstMatrixView<float, S> targets;     ///< one a task, NaN: none
  SpanIn<const NodeId, S> rows;          ///< those that count
  bool by_class = false;                 ///< of one class a node: counts of each; else of all together
  SpanIn<double, S> counts;              ///< [4 * columns]: whole numbers
};

/// The columns that are counted: tasks, classes, or one for all classes.
template <class T, Space S>
std::int64_t counted_columns(const CountScoresArgs<T, S>& args) {
  if (args.targets.cols > 0) return args.targets.cols;
  return args.by_class ? args.logits.cols : 1;
}

// count_scores fills, column by column behind each other: hits (predicted and true), predicted, actual, labelled. The
// predicted class is the first of the largest logits, a task is predicted where its logit is above 0 and true where its
// target is above 1/2. For all classes together a hit is a row whose class was predicted, and every labelled row has
// one predicted and one true class. Shapes logits: [n, c]; counts: 4 times counted_columns. Source: epochs/metrics.h

}  // namespace gneiss::kernels
