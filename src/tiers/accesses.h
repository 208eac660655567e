// Which rows batches read: counted on batches of the real sampler, and how many of them a set of hot rows would serve.
//
// A batch reads the row of each of its nodes once. Counts are sums of integers and so the same for any number of
// threads. An order puts the hottest rows first; hot are the first so many of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "graph/reorder.h"
#include "minibatch/sampler.h"

namespace gneiss::tiers {

/// Where batches come from. All must outlive this.
struct Batches {
  const minibatch::Sampler<NodeId>& sampler;
  std::span<const NodeId> seeds;
  std::int64_t batch_size = 1024;
};

struct Accesses {
  std::vector<std::int64_t> counts;  ///< [n] batches that read a node's row
  std::int64_t batches = 0;
  std::int64_t rows = 0;  ///< sum of the counts
  double seconds = 0;     ///< that sampling took
};

/// Samples `epochs` epochs from `first_epoch` (from 1) on under `seed` and counts the rows that their batches read.
/// With seed and epochs of a training these are its own accesses, batch for batch. Errors: the sampler's.
Accesses count_accesses(const Batches& batches, std::uint64_t seed, std::int64_t first_epoch, std::int64_t epochs,
                        int threads);

/// Pieces of 128 bytes that a batch reads of each row of the graph, in the mean of `epochs` epochs under `seed`: those
/// of TieredEdges::count. The same for any number of threads. Errors: the sampler's.
std::vector<double> graph_reads(const Batches& batches, std::uint64_t seed, std::int64_t epochs, int threads);

/// Nodes by descending score, equal ones by original id (`orig_id`: [n], or empty: nodes were never renamed).
/// Errors    kShape if there is not a score for each node; kInternal for one that is no number
graph::Order hot_order(std::span<const double> scores, std::span<const std::int64_t> orig_id);

/// Rows that `share` of `nodes` are: rounded to the nearest, for a share above 0 at least one where there are any.
std::int64_t hot_rows(double share, std::int64_t nodes);

/// The share of accesses to the first `hot` nodes of the order; 0 where nothing was read.
double hit_rate(const Accesses& accesses, std::span<const NodeId> order, std::int64_t hot);

/// Reads of each row a batch along an order, made to fall (see falling).
std::vector<double> heat_of(const Accesses& accesses, std::span<const NodeId> order);

}  // namespace gneiss::tiers
