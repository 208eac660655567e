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
  std::int64_t total = 0;       ///< all of it together, which is never there at once
  std::int64_t derived = 0;     ///< of that, graphs made of the dataset's
  std::int64_t structures = 0;  ///< of that, all structures, with the scratch of making a transpose
  std::int64_t setup = 0;       ///< while the setup phase runs
  std::int64_t steps = 0;       ///< from then on
  // A session that has the dataset to itself frees parts of it meanwhile.
  std::int64_t data_at_once = 0;       ///< before structures are made
  std::int64_t data_before_setup = 0;  ///< until the setup phase begins
  std::int64_t data_after_setup = 0;   ///< until that is through

  /// The most at one time beyond a dataset that the session has to itself, as it was when it came.
  std::int64_t peak() const;
  /// The same where the dataset stays as it is.
  std::int64_t peak_of_kept() const;
};
/// `bytes_of_label`: label_bytes of the dataset's labels.
PlannedBytes planned_bytes(const ir::Plan& plan, std::int64_t bytes_of_label, const SessionOptions& options);

/// Of a node.
std::int64_t label_bytes(const data::Labels& labels);

}  // namespace gneiss::train
