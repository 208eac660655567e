// What devices keep besides a training on mini-batches: rows of features, and rows of the graph, from which they
// sample.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "minibatch/sampler.h"
#include "schedule/machine.h"
#include "tiers/budget.h"
#include "tiers/split.h"
#include "tiers/tiered_edges.h"
#include "train/batch_plan.h"

namespace gneiss::train {

/// As a number of hot rows: what the device's memory has room for beside the plan and the batches that wait there.
inline constexpr std::int64_t kAsManyHotRowsAsFit = -1;

struct KeepRequest {
  tiers::DeviceBudget budget;
  std::int64_t devices = 1;
  std::int64_t hot_rows = 0;                    ///< of features, on each device; kAsManyHotRowsAsFit
  std::span<const double> heat;                 ///< of kAsManyHotRowsAsFit: reads of each row a batch, hottest first
  std::int64_t hot_edges = 0;                   ///< rows of the graph, on all devices together; kAsManyHotRowsAsFit
  std::span<const tiers::GraphRow> graph_rows;  ///< where hot_edges is not 0: by falling reads a byte
};

/// Devices that rows of the graph are dealt to by turns: all that reach each other; without links each device has its
/// own copies, and they are as one.
std::int64_t owners_of_graph(const schedule::Machine& machine, std::int64_t devices);
/// What rows take on the fullest of their owners.
std::int64_t dealt_bytes(std::span<const tiers::GraphRow> rows, std::int64_t owners);

/// R, M and A. Numbers that are given are kept; memory that is left is split by value between what is to fill it.
/// Errors: kOutOfMemory where the device's memory is known and cannot hold the numbers that are given.
tiers::Split split_memory(const KeepRequest& request, const schedule::Machine& machine);

/// Rows of the graph by falling reads a byte, counted on an epoch of batches that the training does not have.
std::vector<tiers::GraphRow> hot_graph_rows(const BatchSource& source, int threads);

/// What reading a piece of a graph's row takes.
tiers::ReadSeconds piece_seconds(const schedule::Machine& machine);

/// A sampler that reads the hottest rows of the graph in devices' memories, and what was read where. Draws are those of
/// the sampler that it is made from.
class GraphTier {
 public:
  /// `sampler` must outlive this.
  GraphTier(const minibatch::Sampler<NodeId>& sampler, std::span<const tiers::GraphRow> hot, std::int64_t devices,
            int threads);

  const minibatch::Sampler<NodeId>& sampler() const { return *sampler_; }
  const tiers::TieredEdges& edges() const { return edges_; }
  std::int64_t rows() const { return rows_; }
  /// Of the fullest device.
  std::int64_t device_bytes() const;
  /// What all copies of edges take here.
  std::int64_t bytes() const;

  /// Adds what a device read to sample a batch; for several threads at the same time.
  void count(const minibatch::Slab& slab);
  tiers::TierTraffic traffic() const;
  void reset();

 private:
  std::int64_t rows_;
  std::int64_t devices_;
  tiers::TieredEdges edges_;
  std::unique_ptr<minibatch::Sampler<NodeId>> sampler_;
  mutable std::mutex mutex_;
  tiers::TierTraffic traffic_;
};

}  // namespace gneiss::train
