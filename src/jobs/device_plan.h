// How a graph would be cut over several devices, and what they would read of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "data/dataset.h"
#include "exchange/fetches.h"
#include "exchange/machine.h"
#include "exchange/model.h"
#include "exchange/resources.h"
#include "exchange/tuner.h"
#include "graph/graph.h"
#include "partition/traffic.h"
#include "settings/config.h"
#include "train/cut_nodes.h"
#include "train/session.h"

namespace gneiss::jobs {

/// How devices, or ranks that fetch, take up each other's rows in a training.
struct TrainingExchange {
  exchange::Exchange how = exchange::Exchange::kHalo;
  std::string why;      ///< for people
  std::string warning;  ///< why numbers that are kept are not used
  // Of fine:
  exchange::Tuning tuning;
  exchange::Tuner::Allowed tunes;  ///< numbers that the tuner may try; none where `tuning` is of an earlier training
  std::string key;                 ///< by which its numbers are kept
};

/// Who shares a graph.
struct Sharers {
  int count = 1;
  bool join_by_mpi = false;  ///< rows come over what joins them, so that the tuner's numbers are others
  bool on_cards = false;     ///< several: rows come over the link between these
  std::string card = {};     ///< its name, where kernels will run; a plan knows none
};

struct DevicePlan {
  exchange::Machine machine;
  std::int64_t columns = 0;  ///< of the rows that are read
  std::vector<partition::PartTraffic> parts;
  // Modelled seconds of one sum on the device that takes longest, see exchange/model.h.
  double halo_seconds = 0;
  double stream_seconds = 0;
  double fine_seconds = 0;
  exchange::Exchange chosen = exchange::Exchange::kHalo;  ///< the one with the least seconds
  TrainingExchange trains_by;                             ///< what a training here would run
  bool on_card = false;                                   ///< of --device, whose memory is meant
  bool equal_blocks = false;  ///< what devices show lies in blocks of NVSHMEM's, of which all have the largest
  // In it, by device:
  std::vector<std::vector<exchange::Fetch>> fetches;
  std::vector<std::int64_t> bytes;           ///< that the device takes
  std::vector<std::int64_t> exchange_bytes;  ///< of these, what taking up others' rows takes
  // How the fine-grained exchange would be launched on the device with the most edges, before it is tuned; no blocks
  // where rows are too wide for it.
  exchange::Tuning tuning;
  exchange::Resources resources;
};

/// What --exchange asks for. `auto` is the shortest sum by modelled time, on the links of --machine if that was given
/// or devices are on several cards, else on this machine: there the processors that sum bring the rows too, so that
/// nothing hides and `halo` is shortest.
///   columns   of the rows that the model gathers
///   model     as it was compiled
TrainingExchange training_exchange(const settings::Config& config, const Sharers& sharers, const cost::Rates& rates,
                                   const graph::Graph& graph, const ir::Program& model, std::int64_t columns);

/// What each device of a training by `plan->trains_by` would fetch and take.
void plan_training(data::Dataset&& dataset, const train::SessionOptions& options, const train::Cutting& cutting,
                   DevicePlan* plan);

/// Cuts the nodes into `devices` parts of about equal work. `columns`: of the rows that the model gathers.
/// Errors: kUsage for an unknown machine.
DevicePlan plan_devices(const graph::Graph& graph, int devices, const std::string& machine, std::int64_t columns);
std::string describe(const DevicePlan& plan);

}  // namespace gneiss::jobs
