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

#include "data/dataset.h"
#include "epochs/position.h"
#include "minibatch/batch.h"
#include "minibatch/sampler.h"
#include "passes/to_blocks.h"
#include "schedule/profiler.h"
#include "schedule/run.h"
#include "train/session.h"

namespace gneiss::train {

/// A device beside the CPU, and how the two routes to it are scheduled.
struct DeviceOptions {
  schedule::Profile profile;
  schedule::PlanOptions plan;  ///< its number of batches follows from the data
  bool threads = false;        ///< a device made of threads of this machine, in real time; or else a simulated one
};

/// How an epoch went on a device.
struct RoutedEpoch {
  schedule::Profile profile;
  bool threads = false;
  schedule::Planned planned;
  schedule::Record simulated;  ///< without work, before the training
  schedule::Record run;        ///< the last epoch
  std::int64_t before = 0;     ///< its first batches, which ran before this process: plan and run are of the others
};

struct BatchOptions {
  minibatch::SamplerOptions sampler;
  std::int64_t batch_size = 1024;
  passes::DegreesOf degrees = passes::DegreesOf::kFullGraph;
  std::optional<bool> in_place;         ///< rows of features are read where they lie; none: where that pays
  int workers = 0;                      ///< threads that prepare batches; 0: half of the session's, at least one
  std::optional<DeviceOptions> device;  ///< none: batches are prepared ahead as fast as this machine can
};

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
  /// model; kUnsupported as to_blocks, and for features in 16 bits.
  BatchTraining(Session<float>* session, const data::Dataset& dataset, const SessionOptions& options,
                const BatchOptions& batches);
  ~BatchTraining();
  BatchTraining(const BatchTraining&) = delete;
  BatchTraining& operator=(const BatchTraining&) = delete;

  /// Begins with the first epoch anew, its order and draws by `seed`; or in `epoch`, of which `batches` are done.
  void restart(std::uint64_t seed, std::int64_t epoch = 1, std::int64_t batches = 0);
  /// One epoch (counted from 1, in order) at learning rate `lr`, or what is left of it behind `done`; the mean loss of
  /// its training nodes, each before the update of its batch. `after` is called by this thread. Errors: a worker's;
  /// kNumeric where a batch's loss is not finite.
  double epoch(std::int64_t number, double lr, const epochs::StepSums& done = {}, const AfterBatch& after = {});
  /// The most nodes and edges that the plan has room for; batches beyond it have made it larger.
  const minibatch::BatchShape& room() const;
  /// Plans for that room, before restart(): other room could make other choices, which differ by rounding.
  void make_room(const minibatch::BatchShape& room);
  /// Of the last epoch.
  const BatchStats& stats() const;
  /// What it takes beside the session, bytes: the plan over blocks, the slabs, the sampler's copies of edges.
  std::int64_t bytes() const;
  /// "mini-batches: 12 an epoch of 1024 seeds, …": for reports.
  std::string describe() const;
  const ir::Plan& plan() const;
  /// Runs batches through both routes of a device of threads, and says how long the stages take. Weights are void then.
  schedule::Measured measure(const schedule::ProfilerOptions& options);
  /// Of the device, or null.
  const RoutedEpoch* routed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gneiss::train
