// Where a run stands after a step: with the weights and what the optimizer remembers, all that the rest of it follows
// from. Random numbers are made from seed, epoch and batch, so no generator has a state.
#pragma once

#include <cstdint>

#include "epochs/early_stopping.h"
#include "epochs/records.h"
#include "epochs/schedule.h"

namespace gneiss::epochs {

/// Sums over the steps of an epoch so far: its mini-batches, or the one step on the whole graph.
struct StepSums {
  std::int64_t steps = 0;
  double loss = 0;   ///< of the seeds, each before the update of its batch; of the whole graph the mean
  double seeds = 0;  ///< that these are of; 1 for the whole graph
};

struct Position {
  EpochRecord epoch;  ///< under way: number, rate and seconds so far
  StepSums sums;
  EarlyStopping::State stopping;  ///< after the epochs before
  Schedule::State schedule;       ///< likewise
};

}  // namespace gneiss::epochs
