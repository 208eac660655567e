// Numbers that the user gave are taken off the memory first; tiers::best_split gets what is left.
#include "train/device_split.h"

#include <algorithm>

#include "base/error.h"
#include "tiers/accesses.h"
#include "tiers/scorer.h"
#include "tiers/tier_map.h"

namespace gneiss::train {
namespace {

[[noreturn]] void refuse(const KeepRequest& request, std::int64_t row_bytes, std::int64_t edge_bytes) {
  constexpr double kMiB = 1 << 20;
  throw Error(ErrorCode::kOutOfMemory,
              fmt::format("a device has {:.2f} MiB, the training takes {:.2f} of them, and {:.2f} MiB of rows of "
                          "features and {:.2f} MiB of rows of the graph are to stay there",
                          static_cast<double>(request.budget.memory_bytes) / kMiB,
                          static_cast<double>(request.budget.memory_bytes - tiers::bytes_left(request.budget)) / kMiB,
                          static_cast<double>(row_bytes) / kMiB, static_cast<double>(edge_bytes) / kMiB),
              request.hot_rows > 0 ? "--hot" : "--hot-edges", "keep fewer, or auto: as many as fit");
}

}  // namespace

std::int64_t owners_of_graph(const schedule::Machine& machine, std::int64_t devices) {
  return machine.peer_link > 0 ? devices : 1;
}

std::int64_t dealt_bytes(std::span<const tiers::GraphRow> rows, std::int64_t owners) {
  std::vector<std::int64_t> held(static_cast<std::size_t>(owners), 0);
  for (std::size_t i = 0; i < rows.size(); ++i) held[i % held.size()] += rows[i].bytes;
  return *std::ranges::max_element(held);
}

tiers::ReadSeconds piece_seconds(const schedule::Machine& machine) {
  constexpr double kPiece = 128;
  return {kPiece / machine.device_memory, machine.peer_link > 0 ? kPiece / machine.peer_link : 0,
          kPiece / machine.link_reads};
}

tiers::Split split_memory(const KeepRequest& request, const schedule::Machine& machine) {
  const bool linked = machine.peer_link > 0;
  const bool rows_fit = request.hot_rows == kAsManyHotRowsAsFit;
  const bool edges_fit = request.hot_edges == kAsManyHotRowsAsFit;
  const std::int64_t given_edges =
      edges_fit ? 0 : std::min(request.hot_edges, static_cast<std::int64_t>(request.graph_rows.size()));
  const std::span<const tiers::GraphRow> given = request.graph_rows.first(static_cast<std::size_t>(given_edges));
  const tiers::TierMap given_map =
      tiers::plain_map(request.budget.rows, rows_fit ? 0 : request.hot_rows, request.devices, linked);
  const std::int64_t row_bytes = tiers::device_rows(given_map, 0) * request.budget.row_bytes;
  const std::int64_t edge_bytes = dealt_bytes(given, owners_of_graph(machine, request.devices));
  const std::int64_t left = tiers::bytes_left(request.budget) - row_bytes - edge_bytes;
  const bool is_known = request.budget.memory_bytes >= 0;
  if (is_known && left < 0 && row_bytes + edge_bytes > 0) refuse(request, row_bytes, edge_bytes);
  tiers::SplitRequest asked{.device_bytes = left,
                            .devices = request.devices,
                            .linked = linked,
                            .row_bytes = request.budget.row_bytes,
                            .row = read_seconds(machine, request.budget.row_bytes),
                            .graph_read = piece_seconds(machine)};
  if (rows_fit) asked.heat = request.heat;
  if (edges_fit) asked.graph_rows = request.graph_rows;
  tiers::Split split;
  if (rows_fit || edges_fit) split = tiers::best_split(asked);
  if (!rows_fit) {
    split.replicated = given_map.replicated;
    split.pooled = given_map.pooled;
  }
  if (!edges_fit) split.graph_rows = given_edges;
  return split;
}

std::vector<tiers::GraphRow> hot_graph_rows(const BatchSource& source, int threads) {
  const std::vector<double> reads = tiers::graph_reads({source.sampler, source.seeds, source.batch_size},
                                                       tiers::choice_seed(source.seed), 1, threads);
  return tiers::order_graph_rows(source.dataset.graph.offsets(), reads);
}

GraphTier::GraphTier(const minibatch::Sampler<NodeId>& sampler, std::span<const tiers::GraphRow> hot,
                     std::int64_t devices, int threads)
    : rows_(std::ssize(hot)),
      devices_(devices),
      edges_(sampler.graph(), hot, devices, threads, minibatch::EdgeSlots::kOfWeights),
      sampler_(std::make_unique<minibatch::Sampler<NodeId>>(edges_.in_edges(), sampler.options(), threads)) {}

std::int64_t GraphTier::device_bytes() const {
  std::int64_t most = 0;
  for (std::int64_t d = 0; d < devices_; ++d) most = std::max(most, edges_.device_bytes(d));
  return most;
}

std::int64_t GraphTier::bytes() const { return edges_.bytes(); }

void GraphTier::count(const minibatch::Slab& slab) {
  tiers::TierTraffic read;
  edges_.count(minibatch::MiniBatch<NodeId>(slab), sampler_->options().semantics, &read);
  const std::lock_guard lock(mutex_);
  traffic_.add(read);
}

tiers::TierTraffic GraphTier::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

void GraphTier::reset() {
  const std::lock_guard lock(mutex_);
  traffic_ = {};
}

}  // namespace gneiss::train
