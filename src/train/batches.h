// Training on mini-batches: an epoch is a pass over all training nodes, batch by batch.
//
// The model's program is turned into one over sampled blocks (passes/to_blocks) and planned once, for the most nodes
// and edges that a batch may have. Workers sample the batches ahead and add what a step needs to each batch's slab:
// blocks in both directions, rows of features, labels. A step binds the plan to the slab and runs forward, backward and
// the update. Parameters are those of the full-graph session, which evaluates on whole neighbourhoods.
//
// With a device the stages of batches are those of a schedule (schedule/): a simulated one has them done here while it
// keeps virtual time, one of threads does them beside each other. The weights are the same as without.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "data/dataset.h"
#include "epochs/position.h"
#include "minibatch/batch.h"
#include "minibatch/sampler.h"
#include "passes/to_blocks.h"
#include "schedule/machine.h"
#include "schedule/profiler.h"
#include "schedule/run.h"
#include "tiers/tiered_rows.h"
#include "train/batch_plan.h"
#include "train/device_split.h"
#include "train/session.h"

namespace gneiss::train {

/// A device beside the CPU, and how the two routes to it are scheduled.
struct DeviceOptions {
  schedule::Profile profile;
  schedule::PlanOptions plan;      ///< its number of batches follows from the data
  bool threads = false;            ///< a device made of threads of this machine, in real time; or else a simulated one
  std::int64_t memory_bytes = -1;  ///< of the device; -1: not known
  const schedule::Machine* machine = nullptr;  ///< whose rates make the profile, by the sizes of the batches at hand
};

/// Rows of the graph that devices keep.
struct KeptEdges {
  std::int64_t rows = 0;          ///< of all devices
  std::int64_t device_bytes = 0;  ///< of the fullest
};

/// How an epoch went on a device.
struct RoutedEpoch {
  schedule::Profile profile;
  bool threads = false;
  schedule::Planned planned;
  schedule::Record simulated;    ///< without work, before the training
  schedule::Record run;          ///< the last epoch
  int replanned = 0;             ///< times that means of the stages led to another plan; see schedule::Replanner
  std::int64_t before = 0;       ///< its first batches, which ran before this process: plan and run are of the others
  tiers::TierMap tier_map;       ///< where rows of features lie; all in main memory where no row is hot
  tiers::TierTraffic by_cpu;     ///< rows that the CPU gathered for the device in the last epoch; none without hot rows
  tiers::TierTraffic by_device;  ///< rows that the device read: its own, and others through the link
  KeptEdges kept_edges;
  tiers::TierTraffic drawn;       ///< rows of the graph that Route 1 drew from; none where no such row is kept
  std::int64_t copied_bytes = 0;  ///< of the last epoch, by Route 0: blocks, labels and the rows that it carried
};

/// What several devices read in an epoch.
struct ParallelEpoch {
  int devices = 1;
  bool processes = false;
  tiers::TierMap tier_map;               ///< all rows in main memory where none is hot
  std::vector<tiers::TierTraffic> read;  ///< by device, which reads through the tiers; zeros without hot rows
  KeptEdges kept_edges;
  std::vector<tiers::TierTraffic> drawn;  ///< by device: rows of the graph that it drew from; zeros without hot ones
  const schedule::Machine* machine = nullptr;  ///< whose rates say what that would take; null: none was named
};

struct BatchOptions {
  minibatch::SamplerOptions sampler;
  std::int64_t batch_size = 1024;
  passes::DegreesOf degrees = passes::DegreesOf::kFullGraph;
  std::optional<bool> in_place;         ///< rows of features are read where they lie; none: where that pays
  int workers = 0;                      ///< threads that prepare batches; 0: half of the session's, at least one
  bool few_slabs = false;               ///< one for each worker and one to train from: less memory, less ahead
  std::optional<DeviceOptions> device;  ///< none: batches are prepared ahead as fast as this machine can
  comm::Ranks* processes = nullptr;     ///< each one of the devices; null: devices are threads
  int devices = 1;                      ///< that train in parallel, each on batches of that size
  /// The first rows of features, which the device keeps, or each of several, which share them. Needs a device, or
  /// several.
  std::int64_t hot_rows = 0;
  std::int64_t hot_edges = 0;  ///< rows of the graph that devices keep, those with most reads a byte; as hot_rows
  std::vector<double> heat;    ///< of kAsManyHotRowsAsFit: reads of each row a batch, hottest first

  /// Whose links rows are split by.
  const schedule::Machine& links() const {
    return device && device->machine != nullptr ? *device->machine : schedule::machines().front();
  }
};

/// Stage times for batches of this size: a machine's rates make them. A profile of another graph's batches stays what
/// it is, but for rows that the device keeps.
schedule::Profile stage_times(const DeviceOptions& device, const schedule::BatchSize& batch);

/// Errors: kUsage unless there is a fanout for each of a model's hops.
void check_fanout(std::int32_t hops, const minibatch::SamplerOptions& options);

/// As a training begins: plan_blocks, and without devices features are read where they lie, if that pays.
BlockPlan plan_batches(const ir::Program& model, const minibatch::BatchShape& room, const data::Dataset& dataset,
                       const SessionOptions& options, const BatchOptions& batches);

/// What the batches of an epoch were.
struct BatchStats {
  std::int64_t batches = 0;
  std::int64_t nodes = 0;   ///< over all levels, each node of a batch once
  std::int64_t edges = 0;   ///< over all hops
  double wait_seconds = 0;  ///< that steps waited for batches
  std::int64_t grown = 0;   ///< batches beyond the room they were given, all epochs together
};

/// Told the sums of the epoch under way after an update; true ends the epoch there.
using AfterBatch = std::function<bool(const epochs::StepSums&)>;

class BatchTraining {
 public:
  /// Plans the session's model over blocks and starts to prepare batches. `session` and `dataset` must outlive this;
  /// the dataset keeps its edges and features. Errors: kUsage where the fanout has not one number for each hop of the
  /// model; kUnsupported as to_blocks, and for hot rows of sparse features.
  BatchTraining(Session<float>* session, const data::Dataset& dataset, const SessionOptions& options,
                const BatchOptions& batches);
  ~BatchTraining();
  BatchTraining(const BatchTraining&) = delete;
  BatchTraining& operator=(const BatchTraining&) = delete;

  /// Begins with the first epoch anew, its order and draws by `seed`; or in `epoch`, of which `batches` are done.
  void restart(std::uint64_t seed, std::int64_t epoch = 1, std::int64_t batches = 0);
  /// One epoch (counted from 1, in order) at learning rate `lr`, or what is left of it behind `done`; the mean loss of
  /// its training nodes, each before the update of its batch; not finite where a batch's loss was not, and the epoch
  /// ends there. `after` is called by this thread. Errors: a worker's.
  double epoch(std::int64_t number, double lr, const epochs::StepSums& done = {}, const AfterBatch& after = {});
  /// The most nodes and edges that the plan has room for; batches beyond it have made it larger.
  const minibatch::BatchShape& room() const;
  /// Plans for that room, before restart(): other room could make other choices, which differ by rounding.
  void make_room(const minibatch::BatchShape& room);
  /// Of the last epoch.
  const BatchStats& stats() const;
  /// What it takes beside the session, bytes: the plan over blocks, the slabs, the sampler's copies of edges.
  std::int64_t bytes() const;
  /// "mini-batches: 12 an epoch, of 1024 training nodes at most; uniform without replacement, mfg, …": for reports.
  std::string describe() const;
  /// How batches are drawn: "uniform without replacement, mfg, fanout 15,10".
  std::string describe_sampling() const;
  const ir::Plan& plan() const;
  /// Runs batches through both routes of a device of threads, and says how long the stages take. Weights are void then.
  schedule::Measured measure(const schedule::ProfilerOptions& options);
  /// Of the device, or null.
  const RoutedEpoch* routed() const;
  /// The last epoch of several devices, or null.
  const ParallelEpoch* parallel() const;
  /// Where rows of features lie.
  tiers::TierMap tier_map() const;
  KeptEdges kept_edges() const;
  /// Of a process that is not the first of several: did that end the last epoch?
  bool was_stopped() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gneiss::train
