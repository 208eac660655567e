// What a session will take, before it takes it.
#pragma once

#include <cstdint>

#include "data/dataset.h"
#include "ir/plan.h"
#include "train/session.h"

namespace gneiss::train {

/// What a session takes beyond the dataset, bytes: parameters, gradients, optimizer state, one snapshot of the weights,
/// constants, arena, scratch and sparse structures.
struct PlannedBytes {
  std::int64_t total = 0;    ///< all of it together, which is never there at once
  std::int64_t derived = 0;  ///< of that, graphs made of the dataset's,
  std::int64_t structures =
      0;  ///< and all structures: they too, their transposes and tiles, with the scratch of making a transpose
  std::int64_t setup = 0;           ///< while the setup phase runs
  std::int64_t steps = 0;           ///< from then on
  std::int64_t dropped_unused = 0;  ///< of an expendable dataset, what is freed before all that,
  std::int64_t dropped_before = 0;  ///< has been freed when the setup phase begins,
  std::int64_t dropped = 0;         ///< and when it is through
};
PlannedBytes planned_bytes(const ir::Plan& plan, const data::Dataset& dataset, const SessionOptions& options);

/// Of a node.
std::int64_t label_bytes(const data::Labels& labels);

}  // namespace gneiss::train
