// A step meets four times: whether all batches fit, the mean loss, the sum of gradients, and the end of the update.
// Between meetings a device touches what is its own; the first one alone writes what all read.
#include "train/data_parallel.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "comm/loopback.h"
#include "minibatch/workspace.h"
#include "runtime/executor.h"
#include "train/block_plans.h"
#include "train/rank_data.h"

namespace gneiss::train {
namespace {

void meet(comm::Communicator& communicator) {
  double nothing[] = {0};
  communicator.sum(nothing);
}

void refuse_running_statistics(const ir::Program& program) {
  for (const ir::Param& param : program.params) {
    if (param.trainable) continue;
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("'{}' is a running statistic, and each device would take it of its own batches", param.name),
        "--devices", "train this model on one device, or with --norm layer");
  }
}

}  // namespace

struct DataParallel::Device {
  std::unique_ptr<runtime::Parameters<float>> own;  ///< null: the session's
  runtime::Parameters<float>* parameters = nullptr;
  std::unique_ptr<BatchInputs> inputs;
  std::unique_ptr<runtime::Executor<float>> executor;
  runtime::Inputs step_inputs;
  std::unique_ptr<TieredFeatures> tiered;
  tiers::TierTraffic read;   ///< of the epoch's steps; what is prepared ahead is not counted yet
  tiers::TierTraffic drawn;  ///< the same of rows of the graph
  bool is_set_up = false;
  minibatch::BatchShape shape;  ///< of the batch at hand; no hops: it has none
  std::vector<std::unique_ptr<minibatch::Workspace<NodeId>>> workspaces;
  std::unique_ptr<minibatch::Loader> loader;  ///< after what its workers use
};

DataParallel::DataParallel(const DataParallelParts& parts, const minibatch::BatchShape& room, std::int64_t batch_size,
                           int devices, int workers)
    : parts_(parts),
      room_(room),
      batch_size_(batch_size),
      workers_(std::max(1, workers / std::max(1, devices))),
      threads_(std::max(1, threads_of(parts.options) / std::max(1, devices))),
      ranks_(comm::loopback(devices)) {
  refuse_running_statistics(parts.session.compiled().program);
  for (int d = 0; d < devices; ++d) devices_.push_back(std::make_unique<Device>());
  make_plans();
}

DataParallel::~DataParallel() = default;

void DataParallel::make_plans() {
  for (const auto& device : devices_) device->executor.reset();  // not two arenas at a time
  const ir::Program& model = parts_.session.compiled().program;
  auto made = std::make_unique<BlockPlan>(plan_blocks(model, room_, parts_.degrees, parts_.options));
  for (const auto& device : devices_) {
    if (device == devices_.front()) {
      device->parameters = &parts_.session.parameters();
    } else if (device->own == nullptr) {
      device->own = std::make_unique<runtime::Parameters<float>>(made->plan);
      device->parameters = device->own.get();
    }
    device->inputs = std::make_unique<BatchInputs>(parts_.dataset, model, made->blocks, std::vector{parts_.constants});
    device->inputs->set_plan(made->plan);
    device->inputs->set_tiers(device->tiered.get());
    device->inputs->set_file(parts_.options.feature_file.get());
    device->executor =
        std::make_unique<runtime::Executor<float>>(made->plan, *device->parameters, kernels::Context{threads_, {}});
    device->is_set_up = false;
  }
  planned_ = std::move(made);
}

void DataParallel::set_tiers(std::shared_ptr<const tiers::TieredRows> rows) {
  for (const auto& device : devices_) {
    device->tiered = rows == nullptr ? nullptr : std::make_unique<TieredFeatures>(rows);
    device->inputs->set_tiers(device->tiered.get());
  }
}

void DataParallel::make_room(const minibatch::BatchShape& room) {
  if (room == room_) return;
  for (const auto& device : devices_) device->loader.reset();
  room_ = room;
  make_plans();
}

void DataParallel::restart(std::uint64_t seed, std::int64_t epoch, std::int64_t done) {
  for (const auto& device : devices_) device->loader.reset();
  seed_ = seed;
  const minibatch::SeedOptions options{batch_size_ * std::ssize(devices_), seed, true};
  order_ = std::make_unique<minibatch::SeedOrder<NodeId>>(parts_.seeds, parts_.dataset.num_nodes(),
                                                          parts_.dataset.orig_id, options);
  const std::int64_t count = steps_per_epoch();
  for (int d = 0; d < static_cast<int>(devices_.size()); ++d) {
    devices_[static_cast<std::size_t>(d)]->is_set_up = false;  // for the parameters of this run
    start_loader(d, {seed, epoch + done / count, done % count});
  }
}

std::int64_t DataParallel::steps_per_epoch() const { return order_->batches_per_epoch(); }

/// Parts of a global batch follow each other and differ by one seed at most: the last batch is short for all.
std::span<const NodeId> DataParallel::part_of(const minibatch::SeedOrder<NodeId>::Epoch& epoch, std::int64_t step,
                                              int index) const {
  const std::span<const NodeId> all = order_->batch(epoch, step);
  const auto count = std::ssize(devices_);
  const std::int64_t begin = std::ssize(all) * index / count;
  const std::int64_t end = std::ssize(all) * (index + 1) / count;
  return all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

void DataParallel::start_loader(int index, const minibatch::BatchKey& first) {
  Device& device = *devices_[static_cast<std::size_t>(index)];
  while (std::ssize(device.workspaces) < workers_) device.workspaces.push_back(sampler().make_workspace());
  minibatch::LoaderOptions made;
  made.workers = workers_;
  made.seed = seed_;
  made.batches_per_epoch = steps_per_epoch();
  made.first_epoch = first.epoch;
  made.first_index = first.index;
  device.loader = std::make_unique<minibatch::Loader>(
      [this, index, &device](int worker, const minibatch::BatchKey& key, minibatch::Slab* slab) {
        const auto epoch = order_->epoch(key.epoch);
        const std::span<const NodeId> seeds = part_of(epoch, key.index, index);
        if (seeds.empty()) return;
        sampler().sample(key, seeds, device.workspaces[static_cast<std::size_t>(worker)].get(), slab);
        device.inputs->add(slab, Filler::kDevice);
      },
      made);
}

epochs::StepSums DataParallel::epoch(std::int64_t number, double lr, const epochs::StepSums& done,
                                     const AfterBatch& after, BatchStats* stats) {
  epoch_ = number;
  lr_ = lr;
  sums_ = done;
  stops_ = false;
  stats_ = stats;
  for (const auto& device : devices_) {
    device->read = device->drawn = {};
    if (device->own != nullptr) copy_weights(device.get());
  }
  const double waited = devices_.front()->loader->stats().consumer_seconds;
  std::mutex mutex;
  std::exception_ptr cause;  // of what the others then lack
  try {
    ranks_->run([&](comm::Communicator& communicator) {
      try {
        run(communicator, after);
      } catch (const Error& error) {
        const std::lock_guard lock(mutex);
        if (error.code() != ErrorCode::kPeerLost && !cause) cause = std::current_exception();
        throw;
      } catch (const std::exception&) {
        const std::lock_guard lock(mutex);
        if (!cause) cause = std::current_exception();
        throw;
      }
    });
  } catch (const std::exception&) {
    if (cause) std::rethrow_exception(cause);
    throw;
  }
  stats->wait_seconds = std::max(0.0, devices_.front()->loader->stats().consumer_seconds - waited);
  return sums_;
}

void DataParallel::run(comm::Communicator& communicator, const AfterBatch& after) {
  Device& device = *devices_[static_cast<std::size_t>(communicator.rank())];
  const std::int64_t count = steps_per_epoch();
  const auto order = order_->epoch(epoch_);
  for (std::int64_t index = sums_.steps; index < count && !stops_; ++index) {
    const std::span<const NodeId> seeds = part_of(order, index, communicator.rank());
    std::optional<minibatch::Loader::Held> held = device.loader->next();
    GNEISS_ASSERT(held.has_value(), "the loader ended before the training");
    device.shape = {};
    if (!seeds.empty()) {
      const minibatch::MiniBatch<NodeId> batch(held->slab());
      GNEISS_ASSERT(batch.key().epoch == epoch_ && batch.key().index == index, "part of batch {} came, expected {}",
                    batch.key().index, index);
      device.shape = batch.shape();
    }
    fit(communicator, index, &held);
    const std::int64_t number = (epoch_ - 1) * count + index + 1;
    const double weight =
        loss_weight(parts_.dataset.labels, seeds, parts_.options.loss.kind, parts_.options.class_weights);
    const double loss = step(communicator, number, seeds.empty() ? nullptr : &held->slab(), weight);
    held.reset();
    finish_step(communicator, loss, std::ssize(order_->batch(order, index)), after);
  }
}

bool DataParallel::fits(minibatch::BatchShape shape) const {
  shape.bytes = 0;
  return shape.hops == 0 || !minibatch::overflow(shape, room_);
}

/// A larger plan for all where one device's batch is larger than planned: all go on with the same.
void DataParallel::fit(comm::Communicator& communicator, std::int64_t index,
                       std::optional<minibatch::Loader::Held>* held) {
  const int rank = communicator.rank();
  Device& device = *devices_[static_cast<std::size_t>(rank)];
  double too_large[] = {fits(device.shape) ? 0.0 : 1.0};
  communicator.sum(too_large);
  if (too_large[0] == 0) return;
  held->reset();
  device.loader.reset();  // slabs are filled for the plan that reads them
  meet(communicator);
  if (rank == 0) {
    for (const auto& other : devices_)
      if (!fits(other->shape)) room_.cover(with_margin(other->shape));
    make_plans();
    ++stats_->grown;
  }
  meet(communicator);
  start_loader(rank, {seed_, epoch_, index});
  *held = device.loader->next();
  GNEISS_ASSERT(held->has_value(), "the loader ended before the training");
}

/// Forward and backward of each device's part; the mean loss of the whole batch, whose gradient all have then.
double DataParallel::step(comm::Communicator& communicator, std::int64_t number, const minibatch::Slab* slab,
                          double weight) {
  Device& device = *devices_[static_cast<std::size_t>(communicator.rank())];
  const kernels::StepKey key{seed_, static_cast<std::uint64_t>(number)};
  double sums[] = {0, weight};
  if (slab != nullptr) {
    if (device.tiered != nullptr)
      device.tiered->rows().count(minibatch::MiniBatch<NodeId>(*slab).nodes(), &device.read);
    if (graph_ != nullptr) {
      graph_->edges().count(minibatch::MiniBatch<NodeId>(*slab), sampler().options().semantics, &device.drawn);
    }
    device.inputs->read(*slab, &device.step_inputs);
    device.step_inputs.class_weights = parts_.options.class_weights;
    device.executor->bind(device.step_inputs);
    if (!std::exchange(device.is_set_up, true)) device.executor->run(ir::Phase::kSetup, {seed_, 0});
    device.executor->run(ir::Phase::kForward, key);
    sums[0] = weight * static_cast<double>(device.executor->read(planned_->plan.program.output("loss")).at(0, 0));
  }
  communicator.sum(sums);
  const double loss = sums[1] > 0 ? sums[0] / sums[1] : 0;  // classes may weigh nothing
  if (!std::isfinite(loss)) return loss;
  const std::span<float> gradients = device.parameters->gradients();
  if (slab != nullptr) {
    device.executor->run(ir::Phase::kBackward, key);
    const auto share = static_cast<float>(sums[1] > 0 ? weight / sums[1] : 0);
    for (float& value : gradients) value *= share;
  } else {
    std::fill(gradients.begin(), gradients.end(), 0.0F);
  }
  communicator.sum(gradients);
  return loss;
}

void DataParallel::finish_step(comm::Communicator& communicator, double loss, std::int64_t seeds,
                               const AfterBatch& after) {
  const bool finite = std::isfinite(loss);
  if (communicator.rank() == 0) {
    if (finite) parts_.session.update(lr_);
    ++sums_.steps;
    sums_.loss += loss * static_cast<double>(seeds);
    sums_.seeds += static_cast<double>(seeds);
    for (const auto& device : devices_) count_batch(device->shape);
    stops_ = !finite || (after && after(sums_));
  }
  meet(communicator);
  Device& device = *devices_[static_cast<std::size_t>(communicator.rank())];
  if (device.own != nullptr) copy_weights(&device);
}

void DataParallel::count_batch(const minibatch::BatchShape& shape) {
  if (shape.hops == 0) return;
  ++stats_->batches;
  stats_->nodes += shape.nodes[static_cast<std::size_t>(shape.hops)];
  for (int hop = 0; hop < shape.hops; ++hop) stats_->edges += shape.edges[static_cast<std::size_t>(hop)];
}

void DataParallel::copy_weights(Device* device) {
  const std::span<const float> from = std::as_const(parts_.session.parameters()).values();
  std::copy(from.begin(), from.end(), device->own->values().begin());
}

std::int64_t DataParallel::bytes() const {
  const ir::Plan& plan = planned_->plan;
  const std::int64_t each = plan.arena_bytes + plan.constant_bytes;
  std::int64_t bytes = 0;
  for (const auto& device : devices_) bytes += each + (device->own == nullptr ? 0 : 2 * plan.parameter_bytes);
  return bytes;
}

std::vector<tiers::TierTraffic> DataParallel::traffic() const {
  std::vector<tiers::TierTraffic> all;
  for (const auto& device : devices_) all.push_back(device->read);
  return all;
}

std::vector<tiers::TierTraffic> DataParallel::drawn() const {
  std::vector<tiers::TierTraffic> all;
  for (const auto& device : devices_) all.push_back(device->drawn);
  return all;
}

}  // namespace gneiss::train
