// An epoch of mini-batches: the loader delivers slabs in order, the executor is bound to each and steps.
//
// The plan has room for what probed batches needed and a quarter more. A batch beyond that makes a larger plan; the
// loader then starts anew at that batch, because a slab is filled for the plan that reads it. Batches and so the
// weights are the same for any number of threads and workers.
#include "train/batches.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "base/error.h"
#include "epochs/metrics.h"
#include "minibatch/loader.h"
#include "minibatch/workspace.h"
#include "passes/features_in_place.h"
#include "passes/to_blocks.h"
#include "runtime/executor.h"
#include "schedule/host_device.h"
#include "schedule/replanner.h"
#include "schedule/replay.h"
#include "schedule/sim_device.h"
#include "schedule/watched.h"
#include "train/batch_inputs.h"
#include "train/batch_plan.h"
#include "train/block_plans.h"
#include "train/data_parallel.h"
#include "train/host_work.h"

namespace gneiss::train {

void check_fanout(std::int32_t hops, const minibatch::SamplerOptions& options) {
  if (std::ssize(options.fanout) == hops) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("the model reaches over {} hops, --fanout has {} numbers", hops, options.fanout.size()),
              "--fanout", "one number for each hop, from the seeds outwards: --fanout 15,10 for two layers");
}

schedule::Profile stage_times(const DeviceOptions& device, const schedule::BatchSize& batch) {
  if (device.machine != nullptr) return schedule::profile_of(*device.machine, batch);
  if (device.threads || batch.hot_rows == 0) return device.profile;  // measured here, hot rows and all
  return schedule::with_hot_rows(device.profile, batch.hot_rows / batch.rows, schedule::kGatherShare);
}

BlockPlan plan_batches(const ir::Program& model, const minibatch::BatchShape& room, const data::Dataset& dataset,
                       const SessionOptions& options, const BatchOptions& batches) {
  BlockPlan made = plan_blocks(model, room, batches.degrees, options);
  const data::Features& features = dataset.features;
  const bool has_devices = batches.device || batches.devices > 1;  // which get their rows with the batch
  const bool in_memory = !features.sparse && features.dtype == HalfType::kNone && options.feature_file == nullptr;
  if (has_devices || !in_memory || !batches.in_place.value_or(true)) return made;
  const cost::Rates* const rates = batches.in_place ? nullptr : &options.passes.rates;
  passes::read_features_in_place(dataset.num_nodes(), rates, &made.plan, &made.blocks.graphs);
  return made;
}

struct BatchTraining::Impl {
  using Sampler = minibatch::Sampler<NodeId>;

  /// A plan over blocks of a capacity, and what runs it.
  struct Planned : BlockPlan {
    std::unique_ptr<BatchInputs> inputs;
    std::unique_ptr<runtime::Executor<float>> executor;
    bool is_set_up = false;  ///< what no batch changes has been computed
  };

  /// The epoch under way.
  struct Epoch {
    std::int64_t number = 0;
    double lr = 0;
    epochs::StepSums sums;
    bool plan_changed = false;
  };

  Session<float>& session;
  const data::Dataset& dataset;
  SessionOptions options;
  BatchOptions batches;
  std::vector<NodeId> seeds;
  std::optional<minibatch::OriginalOrder> order;  ///< of in-edges that do not lie in that of the original ids
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<TieredFeatures> tiered;  ///< null: no row is hot
  std::unique_ptr<GraphTier> graph_tier;   ///< null: no row of the graph is
  std::vector<float> constants;
  std::int64_t constant_columns = 0;
  std::uint64_t seed = 0;
  std::unique_ptr<minibatch::SeedOrder<NodeId>> seed_order;
  std::unique_ptr<Planned> planned;
  std::unique_ptr<minibatch::Loader> loader;  ///< after what its workers use
  runtime::Inputs step_inputs;
  std::unique_ptr<DataParallel> parallel;          ///< of several devices, in place of the one plan; null: one device
  std::unique_ptr<ParallelEpoch> shared;           ///< theirs
  std::unique_ptr<RoutedEpoch> routed;             ///< null: no device
  std::unique_ptr<schedule::Replanner> replanner;  ///< of whole epochs on a device of threads; null: another device
  bool is_new = false;                             ///< the last epoch's run, to the replanner
  std::unique_ptr<HostWork> work;                  ///< of the device
  std::unique_ptr<schedule::Work> operators;       ///< its four stages
  minibatch::Prepare sample_alone;
  minibatch::Prepare sample_together;
  int spare_worker = 0;
  BatchStats stats;
  Epoch now;
  std::atomic<bool> failed = false;  ///< a loss of this epoch is not finite
  std::shared_mutex planned_mutex;   ///< held alone where a larger plan takes the place of the planned one
  std::unique_ptr<schedule::HostDevice> threads_device;  ///< last: its threads use all of this

  Impl(Session<float>* trained, const data::Dataset& data, SessionOptions session_options, BatchOptions batch_options)
      : session(*trained),
        dataset(data),
        options(std::move(session_options)),
        batches(std::move(batch_options)),
        seeds(epochs::labelled_split(data).train) {
    options.loss.evaluation_only = false;  // the session's plan may be for that alone
    check_fanout(passes::count_hops(program()), batches.sampler);
    const int threads = threads_of(options);
    sampler = std::make_unique<Sampler>(
        minibatch::in_edges(dataset.graph, dataset.orig_id, threads, &order, minibatch::EdgeSlots::kOfWeights),
        batches.sampler, threads);
    if (batches.workers <= 0) batches.workers = std::max(1, threads_of(options) / 2);
    compute_constants();
    make_plan(probed_room(source()));
    split_device_memory();
    if (batches.device && batches.devices == 1) begin_device();
  }

  BatchSource source() const { return {dataset, *sampler, seeds, batches.batch_size, options.seed}; }

  /// The first rows of features and the hottest rows of the graph go to devices, as many as was asked for or as there
  /// is room.
  void split_device_memory() {
    if (batches.hot_rows == 0 && batches.hot_edges == 0) return keep_hot_rows(tier_map());
    const int threads = threads_of(options);
    std::vector<tiers::GraphRow> graph_rows;
    if (batches.hot_edges != 0) graph_rows = hot_graph_rows(source(), threads);
    const std::int64_t memory = batches.device ? batches.device->memory_bytes : -1;
    const tiers::DeviceBudget budget =
        device_budget(block_plan(), dataset, memory, batches.device ? batches.device->plan.gbs : 0);
    const tiers::Split split = split_memory(
        {budget, batches.devices, batches.hot_rows, batches.heat, batches.hot_edges, graph_rows}, batches.links());
    keep_hot_rows(split.map(dataset.num_nodes(), batches.devices));
    graph_rows.resize(static_cast<std::size_t>(split.graph_rows));
    if (graph_rows.empty()) return;
    graph_tier =
        std::make_unique<GraphTier>(*sampler, graph_rows, owners_of_graph(batches.links(), batches.devices), threads);
    if (parallel != nullptr) parallel->set_graph(graph_tier.get());
  }

  /// Rows of 16 bits go to a device as they are, and become numbers there.
  bool ships_halves() const {
    const data::Features& features = dataset.features;
    return batches.device && parallel == nullptr && !features.sparse && features.dtype != HalfType::kNone;
  }

  void keep_hot_rows(tiers::TierMap map) {
    if (map.replicated + map.pooled == 0 && !ships_halves()) return;
    if (options.feature_file != nullptr) map.host = 0;
    tiered = std::make_unique<TieredFeatures>(dataset.features, options.feature_file.get(), map);
    if (planned != nullptr) planned->inputs->set_tiers(tiered.get());
    if (parallel != nullptr) parallel->set_tiers(tiered->shared_rows());
  }

  KeptEdges kept_edges() const {
    if (graph_tier == nullptr) return {};
    return {graph_tier->rows(), graph_tier->device_bytes()};
  }

  /// Of the device, which samples for Route 1.
  const Sampler& device_sampler() const { return graph_tier == nullptr ? *sampler : graph_tier->sampler(); }

  tiers::TierMap tier_map() const {
    if (tiered != nullptr) return tiered->rows().map();
    tiers::TierMap map = tiers::plain_map(dataset.num_nodes(), 0, batches.devices, false);
    if (options.feature_file != nullptr) map.host = 0;
    return map;
  }

  /// Stage times and the plan of its routes.
  void begin_device() {
    routed = std::make_unique<RoutedEpoch>();
    routed->tier_map = tier_map();
    routed->kept_edges = kept_edges();
    const DeviceOptions& device = *batches.device;
    const bool measured = device.machine == nullptr && tiered == nullptr;
    routed->profile =
        measured ? device.profile : stage_times(device, mean_batch(source(), *planned, routed->tier_map.replicated));
    routed->threads = batches.device->threads;
    schedule::PlanOptions asked = batches.device->plan;
    asked.batches = (std::ssize(seeds) + batches.batch_size - 1) / batches.batch_size;
    if (routed->threads) replanner = std::make_unique<schedule::Replanner>(routed->profile, asked);
    plan_routes(asked.batches, 0);
  }

  /// Who prepares which batch of an epoch; every epoch goes by it until stage times lead to another plan, but for the
  /// rest of one whose first batches ran before this process. No thread may be at work.
  void plan_routes(std::int64_t batches_per_epoch, std::int64_t before) {
    schedule::PlanOptions asked = batches.device->plan;
    asked.batches = batches_per_epoch - before;
    routed->before = before;
    const bool whole = before == 0 && replanner != nullptr;
    routed->planned = whole ? replanner->planned() : schedule::make_plan(routed->profile, asked);
    routed->simulated = schedule::simulate(routed->planned.plan, routed->profile);
    const schedule::Plan& plan = routed->planned.plan;
    work = make_work(std::min(plan.host_slabs, plan.batches), std::min(plan.gbs + 1, plan.batches));
    operators = work->operators().work("Device", "Link");
  }

  /// The epoch before told what the stages take here: the next one goes by that. Its whole batches are ahead.
  void plan_again() {
    if (!std::exchange(is_new, false)) return;
    const bool other_plan = replanner->observe(routed->run);
    routed->profile = replanner->profile();
    routed->replanned = replanner->changes();
    if (other_plan) {
      threads_device.reset();
      plan_routes(seed_order->batches_per_epoch(), 0);
      begin_threads();
    } else {
      routed->planned = replanner->planned();
      routed->simulated = schedule::simulate(routed->planned.plan, routed->profile);
    }
  }

  std::unique_ptr<HostWork> make_work(std::int64_t host_slabs, std::int64_t device_slabs) {
    return std::make_unique<HostWork>(
        HostWork::Stages{[this](std::int64_t index, int worker, minibatch::Slab* slab) {
                           prepare(sample_alone, index, worker, Filler::kCpu, slab);
                         },
                         [this](std::int64_t index, int, minibatch::Slab* slab) {
                           prepare(sample_together, index, 0, Filler::kDevice, slab);
                           if (graph_tier != nullptr && !failed) graph_tier->count(*slab);
                         },
                         [this](std::int64_t index, int, minibatch::Slab* slab) { train_prepared(index, slab); }},
        host_slabs, device_slabs);
  }

  /// As many workers as sample alone at the same time, and one more for what a larger plan makes anew.
  void make_samplers(int workers) {
    sample_alone = minibatch::sampling(*sampler, *seed_order, workers + 1);
    sample_together = minibatch::sampling_together(device_sampler(), *seed_order, threads_of(options));
    spare_worker = workers;
  }

  const ir::Program& program() const { return session.compiled().program; }

  /// What the full graph alone decides, once.
  void compute_constants() {
    passes::BlockCapacity one;
    one.nodes.assign(batches.sampler.fanout.size() + 1, 1);
    one.edges.assign(batches.sampler.fanout.size(), 1);
    const passes::BlockProgram blocks = passes::to_blocks(program(), one, batches.degrees);
    constant_columns = blocks.constant_columns;
    constants = graph_constants(dataset, blocks.constants, options);
  }

  ConstMatrixView<float> constants_view() const {
    return {constants.data(), constant_columns == 0 ? 0 : dataset.num_nodes(), constant_columns};
  }

  void restart(std::uint64_t run_seed, std::int64_t epoch, std::int64_t done) {
    if (parallel != nullptr) return parallel->restart(run_seed, epoch, done);
    loader.reset();
    seed = run_seed;
    seed_order = std::make_unique<minibatch::SeedOrder<NodeId>>(seeds, dataset.num_nodes(), dataset.orig_id,
                                                                minibatch::SeedOptions{batches.batch_size, seed, true});
    planned->is_set_up = false;  // for the parameters of this run
    const std::int64_t count = seed_order->batches_per_epoch();
    if (routed == nullptr) return start_loader({seed, epoch + done / count, done % count});
    make_samplers(routed->profile.workers);
    begin_routes(done % count);
  }

  /// A device for epochs behind their first `before` batches.
  void begin_routes(std::int64_t before) {
    threads_device.reset();
    is_new = false;
    if (routed->before != before) plan_routes(seed_order->batches_per_epoch(), before);
    if (routed->threads) begin_threads();
  }

  void begin_threads() {
    threads_device = std::make_unique<schedule::HostDevice>(operators.get(), routed->profile.workers);
  }

  schedule::Measured measure(const schedule::ProfilerOptions& asked) {
    loader.reset();
    make_samplers(asked.workers);
    now = {1, 0, {}};
    failed = false;
    const std::unique_ptr<HostWork> measured = make_work(asked.workers, 2);
    std::vector<std::int64_t> in_turn(static_cast<std::size_t>(seed_order->batches_per_epoch()));
    std::iota(in_turn.begin(), in_turn.end(), std::int64_t{0});
    measured->start_epoch(in_turn);
    schedule::Measured result = schedule::measure(*measured, std::ssize(in_turn), asked);
    if (asked.contended) measure_contended(&result);
    return result;
  }

  /// The stages of an epoch by the plan that suits them alone, run for real.
  void measure_contended(schedule::Measured* result) {
    constexpr std::int64_t kDeviceBatches = 4;
    const schedule::Profile& profile = result->profile;
    const schedule::Plan plan =
        schedule::make_plan(profile, {{schedule::Mode::kBest, 0}, profile.batches, kDeviceBatches}).plan;
    const schedule::Record planned_epoch = schedule::simulate(plan, profile);
    const std::unique_ptr<HostWork> slabs = make_work(plan.host_slabs, plan.gbs + 1);
    slabs->start_epoch(planned_epoch.order);
    schedule::HostDevice device(slabs.get(), profile.workers);
    schedule::Replay planned_order(plan, planned_epoch.commands);
    const schedule::Record record = schedule::run(planned_order, plan, profile, device);
    schedule::take_contended(schedule::contended_stages(record, plan), result);
  }

  /// Plans for batches of `room`; no worker may be at work.
  void make_plan(const minibatch::BatchShape& room) {
    if (batches.devices > 1) {
      parallel =
          std::make_unique<DataParallel>(DataParallelParts{session, dataset, options, *sampler, constants_view(),
                                                           batches.degrees, seeds, batches.processes},
                                         room, batches.batch_size, batches.devices, batches.workers, batches.few_slabs);
      return;
    }
    auto made = std::make_unique<Planned>();
    static_cast<BlockPlan&>(*made) = plan_batches(program(), room, dataset, options, batches);
    made->inputs = std::make_unique<BatchInputs>(dataset, program(), made->blocks, std::vector{constants_view()});
    made->inputs->set_plan(made->plan);
    made->inputs->set_tiers(tiered.get());
    made->inputs->set_file(options.feature_file.get());
    planned.reset();  // not two arenas at a time
    made->executor = std::make_unique<runtime::Executor<float>>(made->plan, session.parameters(),
                                                                kernels::Context{threads_of(options), {}});
    planned = std::move(made);
  }

  void start_loader(const minibatch::BatchKey& first) {
    minibatch::LoaderOptions made;
    made.workers = batches.workers;
    made.slabs = batches.few_slabs ? batches.workers + 1 : 0;
    made.seed = seed;
    made.batches_per_epoch = seed_order->batches_per_epoch();
    made.first_epoch = first.epoch;
    made.first_index = first.index;
    const minibatch::Prepare sample = minibatch::sampling(*sampler, *seed_order, batches.workers);
    const auto prepare = [sample, inputs = planned->inputs.get()](int worker, const minibatch::BatchKey& key,
                                                                  minibatch::Slab* slab) {
      sample(worker, key, slab);
      inputs->add(slab);
    };
    loader = std::make_unique<minibatch::Loader>(prepare, made);
  }

  void make_room(const minibatch::BatchShape& room) {
    if (parallel != nullptr) return parallel->make_room(room);
    if (room == planned->room) return;
    loader.reset();
    make_plan(room);
  }

  /// A larger plan. No worker may be at work.
  void grow(const minibatch::BatchShape& shape) {
    minibatch::BatchShape room = planned->room;
    room.cover(with_margin(shape));
    const std::lock_guard lock(planned_mutex);
    make_plan(room);
    ++stats.grown;
    now.plan_changed = true;
  }

  /// Loss of a batch before its update.
  double step(const minibatch::Slab& slab, std::uint64_t number, double lr) {
    Planned& plans = *planned;
    plans.inputs->read(slab, &step_inputs);
    step_inputs.class_weights = options.class_weights;
    plans.executor->bind(step_inputs);
    if (!std::exchange(plans.is_set_up, true)) plans.executor->run(ir::Phase::kSetup, {seed, 0});
    plans.executor->run(ir::Phase::kForward, {seed, number});
    const double loss = static_cast<double>(plans.executor->read(plans.plan.program.output("loss")).at(0, 0));
    if (!std::isfinite(loss)) return loss;
    plans.executor->run(ir::Phase::kBackward, {seed, number});
    session.update(lr);
    return loss;
  }

  double epoch(std::int64_t number, double lr, const epochs::StepSums& done, const AfterBatch& after) {
    stats = {.grown = stats.grown};
    if (parallel != nullptr) return epoch_in_parallel(number, lr, done, after);
    now = {number, lr, done};
    failed = false;
    if (routed == nullptr) {
      run_loader(after);
    } else if (done.steps < seed_order->batches_per_epoch()) {
      if (routed->before != done.steps) {
        begin_routes(done.steps);
      } else {
        plan_again();
      }
      run_device(after);
    } else {
      routed->run = routed->simulated;  // it ran before this process
    }
    return now.sums.loss / now.sums.seeds;
  }

  double epoch_in_parallel(std::int64_t number, double lr, const epochs::StepSums& done, const AfterBatch& after) {
    const epochs::StepSums sums = parallel->epoch(number, lr, done, after, &stats);
    shared = std::make_unique<ParallelEpoch>();
    shared->devices = batches.devices;
    shared->processes = batches.processes != nullptr;
    shared->tier_map = tier_map();
    shared->read = parallel->traffic();
    shared->kept_edges = kept_edges();
    shared->drawn = parallel->drawn();
    if (batches.device) shared->machine = batches.device->machine;
    return sums.loss / sums.seeds;
  }

  void run_loader(const AfterBatch& after) {
    const std::int64_t count = seed_order->batches_per_epoch();
    const double waited = loader->stats().consumer_seconds;
    for (std::int64_t index = now.sums.steps; index < count && !failed;) {
      std::optional<minibatch::Loader::Held> held = loader->next();
      GNEISS_ASSERT(held.has_value(), "the loader ended before the training");
      const minibatch::MiniBatch<NodeId> batch(held->slab());
      const minibatch::BatchKey key = batch.key();
      GNEISS_ASSERT(key.epoch == now.number && key.index == index, "batch {} of epoch {} came instead of {} of {}",
                    key.index, key.epoch, index, now.number);
      const minibatch::BatchShape shape = batch.shape();
      if (!fits(shape)) {
        held.reset();
        loader.reset();
        grow(shape);
        start_loader(key);
        continue;
      }
      train_batch(index, held->slab());
      ++index;
      if (after && !failed && after(now.sums)) break;
    }
    stats.wait_seconds = std::max(0.0, loader->stats().consumer_seconds - waited);
  }

  void run_device(const AfterBatch& after) {
    const schedule::Plan& plan = routed->planned.plan;
    work->start_epoch(routed->simulated.order, routed->before);
    if (tiered != nullptr) tiered->reset();
    if (graph_tier != nullptr) graph_tier->reset();
    const auto stops = [&] { return failed || (after && after(now.sums)); };
    if (threads_device == nullptr) {
      schedule::Scheduler scheduler(plan);
      schedule::Watched watched(&scheduler, stops);
      schedule::SimDevice device(routed->profile, plan, operators.get());
      routed->run = schedule::run(watched, plan, routed->profile, device);
    } else {
      schedule::Replay planned_order(plan, routed->simulated.commands);
      schedule::Watched watched(&planned_order, stops);
      routed->run = schedule::run(watched, plan, routed->profile, *threads_device);
      is_new = routed->before == 0;
    }
    routed->copied_bytes = work->copied_bytes();
    if (graph_tier != nullptr) routed->drawn = graph_tier->traffic();
    if (tiered == nullptr) return;
    routed->by_cpu = tiered->by_cpu();
    routed->by_device = tiered->by_device();
  }

  minibatch::BatchKey key_of(std::int64_t index) const { return {seed, now.number, index}; }

  void prepare(const minibatch::Prepare& sample, std::int64_t index, int worker, Filler filler, minibatch::Slab* slab) {
    if (failed) return;
    try {
      sample(worker, key_of(index), slab);
      const std::shared_lock lock(planned_mutex);
      planned->inputs->add(slab, filler);
    } catch (...) {
      std::rethrow_exception(minibatch::error_in_batch(key_of(index)));
    }
  }

  void train_prepared(std::int64_t index, minibatch::Slab* slab) {
    if (failed) return;
    const minibatch::BatchShape shape = minibatch::MiniBatch<NodeId>(*slab).shape();
    if (!fits(shape)) grow(shape);
    // What was added before a larger plan was made may lack what that reads.
    if (now.plan_changed) prepare(sample_alone, index, spare_worker, Filler::kHost, slab);
    planned->inputs->complete(slab);
    train_batch(index, *slab);
  }

  bool fits(minibatch::BatchShape shape) const {
    shape.bytes = 0;
    return !minibatch::overflow(shape, planned->room);
  }

  /// A step on a batch that fits, and the epoch's sums.
  void train_batch(std::int64_t index, const minibatch::Slab& slab) {
    const minibatch::BatchShape shape = minibatch::MiniBatch<NodeId>(slab).shape();
    const std::int64_t before = (now.number - 1) * seed_order->batches_per_epoch();
    const double loss = step(slab, static_cast<std::uint64_t>(before + index + 1), now.lr);
    const auto seeds_of_batch = static_cast<double>(shape.nodes[0]);
    failed = !std::isfinite(loss);
    ++now.sums.steps;
    now.sums.loss += loss * seeds_of_batch;
    now.sums.seeds += seeds_of_batch;
    count_batch(shape);
  }

  const BlockPlan& block_plan() const { return parallel != nullptr ? parallel->block_plan() : *planned; }

  std::int64_t bytes() const {
    const auto slabs_for = [&](std::int64_t workers) { return batches.few_slabs ? workers + 1 : 2 * workers + 2; };
    const std::int64_t slabs = parallel != nullptr
                                   ? batches.devices * slabs_for(std::max(1, batches.workers / batches.devices))
                               : routed == nullptr ? slabs_for(batches.workers)
                                                   : slabs_of(routed->planned.plan);
    const std::int64_t copies = order ? order->bytes() : 0;
    std::int64_t bytes = slabs * slab_bytes(block_plan(), dataset) + copies +
                         static_cast<std::int64_t>(constants.size() * sizeof(float));
    bytes += parallel != nullptr ? parallel->bytes() : planned->plan.arena_bytes + planned->plan.constant_bytes;
    if (options.feature_file != nullptr) {
      const minibatch::BatchShape& room = block_plan().room;
      const std::int64_t workers = std::int64_t{batches.devices} * std::max(1, batches.workers / batches.devices);
      bytes += workers * data::FeatureFile::scratch_bytes(room.nodes[static_cast<std::size_t>(room.hops)]);
    }
    if (graph_tier != nullptr) bytes += graph_tier->bytes();
    for (int d = 0; tiered != nullptr && d < batches.devices; ++d) bytes += tiered->rows().device_bytes(d);
    return bytes;
  }

  static std::int64_t slabs_of(const schedule::Plan& plan) {
    return std::min(plan.host_slabs, plan.batches) + std::min(plan.gbs + 1, plan.batches);
  }

  std::string describe() const {
    const std::int64_t size = batches.batch_size * batches.devices;
    const auto count = (std::ssize(seeds) + size - 1) / size;
    const std::string shared_by = batches.devices > 1 ? fmt::format(", shared by {} devices", batches.devices) : "";
    return fmt::format("mini-batches: {} an epoch, of {} training nodes at most{}; {}; scores by whole neighbourhoods",
                       count, size, shared_by, sampler->describe());
  }

  void count_batch(const minibatch::BatchShape& shape) {
    ++stats.batches;
    stats.nodes += shape.nodes[static_cast<std::size_t>(shape.hops)];
    for (int hop = 0; hop < shape.hops; ++hop) stats.edges += shape.edges[static_cast<std::size_t>(hop)];
  }
};

BatchTraining::BatchTraining(Session<float>* session, const data::Dataset& dataset, const SessionOptions& options,
                             const BatchOptions& batches)
    : impl_(std::make_unique<Impl>(session, dataset, options, batches)) {}

BatchTraining::~BatchTraining() = default;

void BatchTraining::restart(std::uint64_t seed, std::int64_t epoch, std::int64_t batches) {
  impl_->restart(seed, epoch, batches);
}
double BatchTraining::epoch(std::int64_t number, double lr, const epochs::StepSums& done, const AfterBatch& after) {
  return impl_->epoch(number, lr, done, after);
}
const minibatch::BatchShape& BatchTraining::room() const { return impl_->block_plan().room; }
void BatchTraining::make_room(const minibatch::BatchShape& room) { impl_->make_room(room); }
std::int64_t BatchTraining::bytes() const { return impl_->bytes(); }
std::string BatchTraining::describe() const { return impl_->describe(); }
std::string BatchTraining::describe_sampling() const { return impl_->sampler->describe(); }
const BatchStats& BatchTraining::stats() const { return impl_->stats; }
const ir::Plan& BatchTraining::plan() const { return impl_->block_plan().plan; }
schedule::Measured BatchTraining::measure(const schedule::ProfilerOptions& options) { return impl_->measure(options); }
const RoutedEpoch* BatchTraining::routed() const { return impl_->routed.get(); }
const ParallelEpoch* BatchTraining::parallel() const { return impl_->shared.get(); }
tiers::TierMap BatchTraining::tier_map() const { return impl_->tier_map(); }
bool BatchTraining::was_stopped() const { return impl_->parallel != nullptr && impl_->parallel->was_stopped(); }
KeptEdges BatchTraining::kept_edges() const { return impl_->kept_edges(); }

}  // namespace gneiss::train
