// How a graph would be cut over several devices, and what they would read of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/machine.h"
#include "exchange/model.h"
#include "exchange/resources.h"
#include "graph/graph.h"
#include "partition/traffic.h"

namespace gneiss::jobs {

struct DevicePlan {
  exchange::Machine machine;
  std::int64_t columns = 0;  ///< of the rows that are read
  std::vector<partition::PartTraffic> parts;
  // Modelled seconds of one sum on the device that takes longest, see exchange/model.h.
  double halo_seconds = 0;
  double stream_seconds = 0;
  double fine_seconds = 0;
  exchange::Exchange chosen = exchange::Exchange::kHalo;  ///< the one with the least seconds
  // How the fine-grained exchange would be launched on the device with the most edges, before it is tuned.
  exchange::Tuning tuning;
  exchange::Resources resources;
};

/// Cuts the nodes into `devices` parts of about equal work. `columns`: of the rows that the model gathers.
/// Errors: kUsage for an unknown machine.
DevicePlan plan_devices(const graph::Graph& graph, int devices, const std::string& machine, std::int64_t columns);
std::string describe(const DevicePlan& plan);

}  // namespace gneiss::jobs
