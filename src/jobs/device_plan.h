// How a graph would be cut over several devices, and what they would read of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "partition/traffic.h"

namespace gneiss::jobs {

/// A machine with several devices, as its maker describes it.
struct Machine {
  std::string name;
  double bytes_per_second = 0;  ///< that one device receives from the others
  double seconds = 0;           ///< from a request to its first byte
};

/// The machines that are known by name.
const std::vector<Machine>& machines();

struct DevicePlan {
  Machine machine;
  std::int64_t columns = 0;  ///< of the rows that are read
  std::vector<partition::PartTraffic> parts;
  double halo_seconds = 0;  ///< modelled, of one sum: distinct rows at once
  double edge_seconds = 0;  ///< the same with a row for every edge
};

/// Cuts the nodes into `devices` parts of about equal work. `columns`: of the rows that the model gathers.
/// Errors: kUsage for an unknown machine.
DevicePlan plan_devices(const graph::Graph& graph, int devices, const std::string& machine, std::int64_t columns);
std::string describe(const DevicePlan& plan);

}  // namespace gneiss::jobs
