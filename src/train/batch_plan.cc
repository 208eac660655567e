// Probed batches are those of the training itself: its seed, its first epoch.
#include "train/batch_plan.h"

#include <algorithm>

#include "minibatch/capacity.h"
#include "minibatch/workspace.h"
#include "passes/pipeline.h"
#include "tiers/tiered_rows.h"
#include "train/block_plans.h"

namespace gneiss::train {
namespace {

constexpr int kProbes = 8;

minibatch::SeedOrder<NodeId> order_of(const BatchSource& source) {
  return {source.seeds, source.dataset.num_nodes(), source.dataset.orig_id, {source.batch_size, source.seed, true}};
}

/// As rows are stored, and kept by devices.
std::int64_t row_bytes_of(const data::Dataset& dataset) { return dataset.features.row_bytes(); }

/// Work of a step: that of the plan, which has room for more nodes than a mean batch.
void add_step(const BlockPlan& planned, schedule::BatchSize* batch) {
  const double part =
      batch->rows / static_cast<double>(planned.room.nodes[static_cast<std::size_t>(planned.room.hops)]);
  for (const ir::Step& step : planned.plan.steps) {
    const ir::Phase phase = planned.plan.program.ops[static_cast<std::size_t>(step.op)].phase;
    if (phase != ir::Phase::kForward && phase != ir::Phase::kBackward) continue;
    batch->step_flop += step.flops * part;
    batch->step_bytes += step.bytes * part;
    batch->step_calls += 1;
  }
}

}  // namespace

minibatch::BatchShape probed_room(const BatchSource& source) {
  return minibatch::capacity(source.sampler, order_of(source), {source.seed, 1, 0}, kProbes, kRoomMargin);
}

BlockPlan plan_blocks(const ir::Program& model, const minibatch::BatchShape& room, passes::DegreesOf degrees,
                      const SessionOptions& options) {
  BlockPlan made;
  made.room = room;
  made.blocks = passes::to_blocks(model, block_capacity(room), degrees);
  made.plan = passes::build_plan(made.blocks.program, block_passes(options));
  return made;
}

std::int64_t slab_bytes(const BlockPlan& plan, const data::Dataset& dataset) {
  const minibatch::BatchShape& room = plan.room;
  const std::int64_t nodes = room.nodes[static_cast<std::size_t>(room.hops)];
  const bool in_place = std::ranges::any_of(plan.blocks.graphs, &passes::BlockGraph::of_all_nodes);
  const std::int64_t columns = (in_place ? 0 : dataset.features.cols) + plan.blocks.constant_columns;
  std::int64_t bytes = nodes * (columns * std::int64_t{sizeof(float)} + std::int64_t{sizeof(std::int64_t)});
  constexpr std::int64_t kEdgeBytes = 3 * sizeof(NodeId) + 2 * sizeof(EdgeId) + sizeof(float);
  for (int hop = 0; hop < room.hops; ++hop) bytes += room.edges[static_cast<std::size_t>(hop)] * kEdgeBytes;
  return bytes;
}

schedule::BatchSize mean_batch(const BatchSource& source, const BlockPlan& plan, std::int64_t hot) {
  const minibatch::SeedOrder<NodeId> order = order_of(source);
  const std::int64_t count = std::min<std::int64_t>(kProbes, order.batches_per_epoch());
  const auto epoch = order.epoch(1);
  const auto workspace = source.sampler.make_workspace();
  minibatch::Slab slab;
  schedule::BatchSize batch;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = i * order.batches_per_epoch() / count;
    source.sampler.sample({source.seed, 1, index}, order.batch(epoch, index), workspace.get(), &slab);
    const minibatch::MiniBatch<NodeId> sampled(slab);
    const minibatch::BatchShape& shape = sampled.shape();
    for (int hop = 0; hop < shape.hops; ++hop)
      batch.edges += static_cast<double>(shape.edges[static_cast<std::size_t>(hop)]);
    batch.rows += static_cast<double>(sampled.nodes().size());
    for (const NodeId v : sampled.nodes()) batch.hot_rows += v < hot ? 1 : 0;
    batch.structure_bytes += static_cast<double>(slab.bytes().size());
  }
  for (double* sum : {&batch.edges, &batch.rows, &batch.hot_rows, &batch.structure_bytes})
    *sum /= static_cast<double>(count);
  batch.row_bytes = static_cast<double>(row_bytes_of(source.dataset));
  batch.row_read_bytes = 128 * tiers::mean_pieces(row_bytes_of(source.dataset), 128);
  add_step(plan, &batch);
  return batch;
}

tiers::ReadSeconds read_seconds(const schedule::Machine& machine, std::int64_t row_bytes) {
  const auto bytes = static_cast<double>(row_bytes);
  tiers::ReadSeconds seconds;
  seconds.own = bytes / machine.device_memory;
  seconds.peer = machine.peer_link > 0 ? bytes / machine.peer_link : 0;
  seconds.host = 128 * tiers::mean_pieces(row_bytes, 128) / machine.link_reads;
  return seconds;
}

tiers::DeviceBudget device_budget(const BlockPlan& plan, const data::Dataset& dataset, std::int64_t memory_bytes,
                                  std::int64_t waiting) {
  return {.memory_bytes = memory_bytes,
          .plan_bytes = plan.plan.total_bytes(4, 1),
          .slabs = waiting + 1,
          .slab_bytes = slab_bytes(plan, dataset),
          .rows = dataset.num_nodes(),
          .row_bytes = row_bytes_of(dataset)};
}

}  // namespace gneiss::train
