// What a training on mini-batches is known to need before any of it is allocated: the plan over blocks, slabs, the mean
// batch, and which rows a device's memory has room for beside all that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "ir/plan.h"
#include "minibatch/sampler.h"
#include "passes/to_blocks.h"
#include "schedule/machine.h"
#include "tiers/budget.h"
#include "tiers/split.h"
#include "train/session.h"

namespace gneiss::train {

/// Where batches come from; all must outlive this.
struct BatchSource {
  const data::Dataset& dataset;
  const minibatch::Sampler<NodeId>& sampler;
  std::span<const NodeId> seeds;
  std::int64_t batch_size = 1024;
  std::uint64_t seed = 0;
};

/// Blocks of a capacity, and the plan over them.
struct BlockPlan {
  minibatch::BatchShape room;
  passes::BlockProgram blocks;
  ir::Plan plan;
};

/// The room that a few batches of the first epoch ask for, and a quarter more.
minibatch::BatchShape probed_room(const BatchSource& source);
/// Errors: as to_blocks and build_plan.
BlockPlan plan_blocks(const ir::Program& model, const minibatch::BatchShape& room, passes::DegreesOf degrees,
                      const SessionOptions& options);
/// What a step reads of a batch as large as there is room for.
std::int64_t slab_bytes(const BlockPlan& plan, const data::Dataset& dataset);

/// A mean batch of the first epoch and the work of a step on it; `hot` are the first so many rows.
schedule::BatchSize mean_batch(const BatchSource& source, const BlockPlan& plan, std::int64_t hot);

/// What reading a row of `row_bytes` takes on a machine.
tiers::ReadSeconds read_seconds(const schedule::Machine& machine, std::int64_t row_bytes);

/// A device's memory, and what a training takes of it: values of a step, parameters with their gradients and moments,
/// and `waiting` batches besides the one that is trained.
tiers::DeviceBudget device_budget(const BlockPlan& plan, const data::Dataset& dataset, std::int64_t memory_bytes,
                                  std::int64_t waiting);

}  // namespace gneiss::train
