// What a rank has of a machine, and how it reaches the others.
#pragma once

#include <cstdint>

#include "cost/network.h"
#include "cost/rates_file.h"
#include "graph/graph.h"
#include "partition/report.h"
#include "settings/config.h"

namespace gneiss::jobs {

/// Threads of this process where nobody says how many: all that it may use, of which each process that a launcher
/// started here has its part.
int threads_of_process();

/// This machine as all ranks on it share it: a process that its launcher bound has less.
cost::MachineKey whole_machine();

/// Rates to choose by in a training on `ranks` ranks of this process, or on those of its launcher: measured with so
/// many on this machine, else the whole machine's, which choose alike.
cost::RatesInUse rates_of_training(int ranks);

/// Ranks that share this machine in a training: those of this process, or of its launcher.
int ranks_sharing(int ranks);

struct RankMachine {
  cost::RatesInUse use;
  cost::Network network;
};
/// Of one of `sharing` ranks on a machine like this one. The network is `train.network`, else as it was measured with
/// so many, else a fast one. Errors: kUsage if the network cannot be read.
RankMachine rank_machine(const settings::Config& config, int sharing);

/// What an epoch takes on such ranks.
///   columns   of the rows that are summed and sent
partition::EpochModel epoch_model(const RankMachine& machine, const graph::Graph& graph, std::int64_t columns);

}  // namespace gneiss::jobs
