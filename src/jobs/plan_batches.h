// `gneiss plan` of a training on mini-batches: its room, what a device's memory is taken for, and what batches would
// read from where.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "settings/config.h"
#include "train/batch_plan.h"
#include "train/batches.h"

namespace gneiss::jobs {

class Workload;

/// Rows of features a batch, in the mean, by where a device reads them.
struct PredictedReads {
  double own = 0;   ///< in its own memory
  double peer = 0;  ///< in other devices'
  double host = 0;  ///< in main memory

  double all() const { return own + peer + host; }
};

struct BatchPlanReport {
  std::string sampling;
  std::int64_t steps = 0;       ///< of an epoch
  std::int64_t batch_size = 0;  ///< of a device
  int devices = 1;
  train::BlockPlan plan;  ///< of a batch
  std::string machine;    ///< by whose rates; empty: there is no device
  tiers::DeviceBudget budget;
  bool as_fits = false;               ///< rows fill what is left of the device's memory
  tiers::TierMap tier_map;            ///< as the training would lay rows out
  std::int64_t graph_rows = 0;        ///< of the graph, that devices keep
  std::int64_t graph_bytes = 0;       ///< of these, on the fullest device
  double graph_reads_on_devices = 0;  ///< pieces of 128 bytes that sampling a batch reads there …
  double graph_reads_on_host = 0;     ///< … and through the link; both 0 where no such row was asked for
  PredictedReads reads;               ///< on batches apart where rows fill the memory, else on a few of the first epoch
  double link_bytes = 0;              ///< over the link for features, a batch, in whole pieces
  double all_bytes = 0;               ///< the same without hot rows
  double read_seconds = 0;            ///< of these reads, one after the other
  double epoch_seconds = 0;           ///< of the planned schedule of one device; 0: none
};

/// Of a workload whose nodes are in the order of the training. Errors: as the training's start.
BatchPlanReport plan_batches(const settings::Config& config, const Workload& workload);

std::string describe(const BatchPlanReport& report);
Json to_json(const BatchPlanReport& report);

}  // namespace gneiss::jobs
