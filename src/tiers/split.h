// How a device's memory is split between rows of features that every device keeps, rows that the devices share, and
// rows of the graph itself.
//
// Each item has a value, the seconds a batch that it saves, and takes bytes of every device: a replicated row its own,
// a pooled one a G-th of them, as does a row of the graph. What saves most a byte goes first. Rows of features lie in
// the order of their heat, so a split of them is two numbers, R and M; rows of the graph have an order of their own,
// by reads a byte, so that theirs is a third, A. For a given A the best R and M follow from one comparison that holds
// up to some R and not beyond: replicating a row costs the pool the G - 1 rows at its end. A itself is tried: all
// values where there are few, else a grid that is made finer around its best.
//
// Source: the budget by value density is that of DUCATI [zhang2023ducati]; how we differ: three places and their links'
// seconds instead of two caches and slopes of profiling runs. The Data Tiering paper leaves R and M to its user.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "tiers/tier_map.h"

namespace gneiss::tiers {

/// What one read of a row takes, in seconds, by where it lies.
struct ReadSeconds {
  double own = 0;   ///< in the reading device's memory
  double peer = 0;  ///< in another device's; no less than `own`
  double host = 0;  ///< in main memory, through the link
};

/// One row of the graph: the in-edges of a node.
struct GraphRow {
  NodeId node = 0;
  std::int64_t bytes = 0;
  double reads = 0;  ///< pieces of it that a batch reads
};

struct SplitRequest {
  std::int64_t device_bytes = 0;  ///< free on each device
  std::int64_t devices = 1;
  bool linked = false;  ///< devices read each other's memory
  std::int64_t row_bytes = 0;
  std::span<const double> heat = {};          ///< reads of each row of features a batch, hottest first
  ReadSeconds row = {};                       ///< of a row of features
  std::span<const GraphRow> graph_rows = {};  ///< by falling reads a byte; empty: the graph is read where it is
  ReadSeconds graph_read = {};                ///< of one piece of such a row
};

struct Split {
  std::int64_t replicated = 0;        ///< R
  std::int64_t pooled = 0;            ///< M
  std::int64_t graph_rows = 0;        ///< A, the first of the request's
  std::int64_t graph_bytes = 0;       ///< of them all
  std::int64_t device_bytes = 0;      ///< that the fullest device holds
  double seconds = 0;                 ///< that a batch of one device reads for
  double own_rows = 0;                ///< rows of features a batch from the device's own memory …
  double peer_rows = 0;               ///< … from other devices' …
  double host_rows = 0;               ///< … and through the link
  double graph_reads_on_devices = 0;  ///< pieces of graph rows a batch, by where they are
  double graph_reads_on_host = 0;

  /// As the tier map of `rows` rows.
  TierMap map(std::int64_t rows, std::int64_t devices) const {
    return {rows, replicated, pooled, rows - replicated - pooled, devices, Placement::kInterleaved};
  }
};

/// What a split that is given costs; `split` brings R, M and A. For tests and for what a user fixed.
Split price(const SplitRequest& request, Split split);

/// The split with the least seconds a batch among those that fit. Without links, or on one device, there is no pool.
/// Nothing fits: all stay on the host. Cost: an order of log(rows) for each A that is tried.
/// Errors: kShape if heat rises along the rows.
Split best_split(const SplitRequest& request);

/// The nearest heat that falls: where it rises, runs of rows share their mean. What was counted on some batches along
/// an order that a score made rises here and there.
std::vector<double> falling(std::span<const double> heat);

/// Rows of the graph by falling reads a byte, of nodes that are read at all; equal ones by node.
std::vector<GraphRow> order_graph_rows(std::span<const EdgeId> offsets, std::span<const double> reads);

/// Of the row of a node with `degree` in-edges: its sources, and one word that says where they begin.
constexpr std::int64_t graph_row_bytes(std::int64_t degree) {
  return degree * std::int64_t{sizeof(NodeId)} + std::int64_t{sizeof(EdgeId)};
}

}  // namespace gneiss::tiers
