// A step meets four times: whether all batches fit, the mean loss, the sum of gradients, and the end of the update.
// Between meetings a device touches what is its own; the first one of a process alone writes what all of it read.
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

/// Of all devices' batches.
std::vector<minibatch::BatchShape> share_shapes(comm::Communicator& communicator, const minibatch::BatchShape& mine) {
  constexpr std::size_t kNumbers = 2 * minibatch::kMaxHops + 2;
  std::vector<double> numbers(kNumbers * static_cast<std::size_t>(communicator.ranks()), 0);
  double* at = numbers.data() + kNumbers * static_cast<std::size_t>(communicator.rank());
  *at++ = mine.hops;
  for (const std::int64_t nodes : mine.nodes) *at++ = static_cast<double>(nodes);
  for (const std::int64_t edges : mine.edges) *at++ = static_cast<double>(edges);
  communicator.sum(numbers);
  std::vector<minibatch::BatchShape> shapes(static_cast<std::size_t>(communicator.ranks()));
  at = numbers.data();
  for (minibatch::BatchShape& shape : shapes) {
    shape.hops = static_cast<int>(*at++);
    for (std::int64_t& nodes : shape.nodes) nodes = static_cast<std::int64_t>(*at++);
    for (std::int64_t& edges : shape.edges) edges = static_cast<std::int64_t>(*at++);
  }
  return shapes;
}

/// visit(count) for each number of what was read.
template <class Visit>
void for_numbers(tiers::TierTraffic* traffic, std::size_t devices, const Visit& visit) {
  for (tiers::TierCount& count : traffic->tier) {
    for (std::int64_t* number : {&count.rows, &count.bytes, &count.pieces_32, &count.pieces_128}) visit(number);
  }
  traffic->pooled_bytes.resize(devices);
  for (std::int64_t& bytes : traffic->pooled_bytes) visit(&bytes);
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
                           int devices, int workers, bool few_slabs)
    : parts_(parts),
      room_(room),
      batch_size_(batch_size),
      workers_(std::max(1, workers / std::max(1, devices))),
      few_slabs_(few_slabs),
      threads_(std::max(1, threads_of(parts.options) / std::max(1, devices))),
      threads_of_this_(parts.processes == nullptr ? comm::loopback(devices) : nullptr) {
  refuse_running_statistics(parts.session.compiled().program);
  for (int d = 0; d < devices; ++d) devices_.push_back(std::make_unique<Device>());
  make_plans();
}

DataParallel::~DataParallel() = default;

void DataParallel::make_plans() {
  for (const auto& device : devices_) device->executor.reset();  // not two arenas at a time
  const ir::Program& model = parts_.session.compiled().program;
  auto made = std::make_unique<BlockPlan>(plan_blocks(model, room_, parts_.degrees, parts_.options));
  for (std::int64_t d = 0; d < std::ssize(devices_); ++d) {
    if (!is_here(d)) continue;
    Device* const device = devices_[static_cast<std::size_t>(d)].get();
    if (device == &first_here()) {
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
  for (std::int64_t d = 0; d < std::ssize(devices_); ++d) {
    if (!is_here(d)) continue;
    Device* const device = devices_[static_cast<std::size_t>(d)].get();
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
    if (!is_here(d)) continue;
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
  made.slabs = few_slabs_ ? workers_ + 1 : 0;
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
  const double waited = first_here().loader->stats().consumer_seconds;
  std::mutex mutex;
  std::exception_ptr cause;  // of what the others then lack
  try {
    ranks().run([&](comm::Communicator& communicator) {
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
  stats->wait_seconds = std::max(0.0, first_here().loader->stats().consumer_seconds - waited);
  return sums_;
}

void DataParallel::run(comm::Communicator& communicator, const AfterBatch& after) {
  Device& device = *devices_[static_cast<std::size_t>(communicator.rank())];
  const std::int64_t count = steps_per_epoch();
  const auto order = order_->epoch(epoch_);
  bool stops = false;
  for (std::int64_t index = sums_.steps; index < count && !stops; ++index) {
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
    stops = finish_step(communicator, loss, std::ssize(order_->batch(order, index)), after);
  }
  if (ranks().here() < ranks().count()) share_traffic(communicator);
}

bool DataParallel::fits(minibatch::BatchShape shape) const {
  shape.bytes = 0;
  return shape.hops == 0 || !minibatch::overflow(shape, room_);
}

/// A larger plan for all where one device's batch is larger than planned: all go on with the same. Counts all batches
/// on the way.
void DataParallel::fit(comm::Communicator& communicator, std::int64_t index,
                       std::optional<minibatch::Loader::Held>* held) {
  const int rank = communicator.rank();
  const bool is_first = rank == ranks().first();
  Device& device = *devices_[static_cast<std::size_t>(rank)];
  double counts[] = {fits(device.shape) ? 0.0 : 1.0, device.shape.hops == 0 ? 0.0 : 1.0,
                     static_cast<double>(device.shape.nodes[static_cast<std::size_t>(device.shape.hops)]), 0};
  if (device.shape.hops == 0) counts[2] = 0;
  for (int hop = 0; hop < device.shape.hops; ++hop)
    counts[3] += static_cast<double>(device.shape.edges[static_cast<std::size_t>(hop)]);
  communicator.sum(counts);
  if (is_first) {
    stats_->batches += static_cast<std::int64_t>(counts[1]);
    stats_->nodes += static_cast<std::int64_t>(counts[2]);
    stats_->edges += static_cast<std::int64_t>(counts[3]);
  }
  if (counts[0] == 0) return;
  held->reset();
  device.loader.reset();  // slabs are filled for the plan that reads them
  const std::vector<minibatch::BatchShape> shapes = share_shapes(communicator, device.shape);
  if (is_first) {
    for (const minibatch::BatchShape& shape : shapes)
      if (!fits(shape)) room_.cover(with_margin(shape));
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

/// Is the epoch to end here?
bool DataParallel::finish_step(comm::Communicator& communicator, double loss, std::int64_t seeds,
                               const AfterBatch& after) {
  const bool finite = std::isfinite(loss);
  const int rank = communicator.rank();
  if (rank == ranks().first()) {
    if (finite) parts_.session.update(lr_);
    ++sums_.steps;
    sums_.loss += loss * static_cast<double>(seeds);
    sums_.seeds += static_cast<double>(seeds);
  }
  double stops[] = {0};
  if (rank == 0) stops[0] = !finite || (after && after(sums_)) ? 1 : 0;
  communicator.sum(stops);
  if (rank > 0 && rank == ranks().first()) {
    stops_ = stops[0] != 0;
    if (after) after(sums_);
  }
  Device& device = *devices_[static_cast<std::size_t>(rank)];
  if (device.own != nullptr) copy_weights(&device);
  return stops[0] != 0;
}

/// What each process has read, for the first one's report.
void DataParallel::share_traffic(comm::Communicator& communicator) {
  const std::size_t count = devices_.size();
  std::vector<double> numbers;
  const auto for_all = [&](const auto& visit) {
    for (std::size_t d = 0; d < count; ++d) {
      for (tiers::TierTraffic* traffic : {&devices_[d]->read, &devices_[d]->drawn})
        for_numbers(traffic, count, [&](std::int64_t* number) { visit(d, number); });
    }
  };
  for_all([&](std::size_t d, const std::int64_t* number) {
    numbers.push_back(static_cast<int>(d) == communicator.rank() ? static_cast<double>(*number) : 0);
  });
  communicator.sum(numbers);
  std::size_t at = 0;
  for_all([&](std::size_t, std::int64_t* number) { *number = static_cast<std::int64_t>(numbers[at++]); });
}

void DataParallel::copy_weights(Device* device) {
  const std::span<const float> from = std::as_const(parts_.session.parameters()).values();
  std::copy(from.begin(), from.end(), device->own->values().begin());
}

std::int64_t DataParallel::bytes() const {
  const ir::Plan& plan = planned_->plan;
  const std::int64_t each = plan.arena_bytes + plan.constant_bytes;
  std::int64_t bytes = 0;
  for (std::int64_t d = 0; d < std::ssize(devices_); ++d) {
    const Device* const device = devices_[static_cast<std::size_t>(d)].get();
    if (is_here(d)) bytes += each + (device->own == nullptr ? 0 : 2 * plan.parameter_bytes);
  }
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
