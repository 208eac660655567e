// How good a cut is: counted anew from the graph, whatever the partitioner believed.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/traffic.h"

namespace gneiss::partition {

/// What an epoch of a full-graph training takes on several ranks.
struct EpochModel {
  double sums = 4;                 ///< over in-edges in an epoch, both ways
  double columns = 64;             ///< of the rows that are summed and sent
  double seconds_per_work = 1e-8;  ///< of one edge of one sum, on one rank
  double node_work = 1;            ///< of a node besides its in-edges, in edges
  double bytes_per_second = 25e9;  ///< that a rank receives
  double latency = 2e-6;           ///< seconds of a message
  double parameter_bytes = 0;      ///< that all ranks add up

  bool operator==(const EpochModel&) const = default;
};

struct CutReport {
  std::vector<PartTraffic> parts;
  std::int64_t cut_edges = 0;   ///< between parts
  std::int64_t ghosts = 0;      ///< copies of others' nodes, of all parts
  double load_ratio = 1;        ///< work of the busiest part over the mean
  double least_ratio = 1;       ///< what no cut of nodes can go below: the heaviest node's
  double size_variance = 0;     ///< sum of (nodes of a part - mean)^2; Morphling's (6)
  std::int64_t most_edges = 0;  ///< in-edges of the part with most; Morphling's (7)
  double epoch_seconds = 0;     ///< modelled
};

/// Counts. Cost: O(edges).
CutReport report_cut(const graph::Graph& graph, const Owners& owners, int parts, const EpochModel& model);

/// Modelled: the slowest rank's sums and the copies it waits for, nothing hidden, and a ring that adds the gradient.
/// Source  Morphling (8) to (11)
double epoch_seconds(const std::vector<PartTraffic>& parts, const EpochModel& model);

}  // namespace gneiss::partition
