// Mini-batches on several devices, data parallel: each steps on its part of a global batch, and one update follows.
//
// A global batch of G · B seeds is cut into G parts of about equal size. Draws are keyed by the global step and by the
// nodes' ids, so that the parts' blocks together are the block of one batch of G · B seeds. Each device has its plan,
// its gradients and its copy of the weights; gradients are weighed by what each part adds to the mean loss, and summed
// in the order of the devices. One of them, which shares the session's parameters, updates; the others copy. So losses
// and weights are those of one device on batches of G · B, to rounding, and the same bits in every run.
//
// Devices are threads of this process, or each is a process of its own (comm/processes.h). Processes each do what a
// session does by themselves, updates and evaluations too, from the same numbers and so to the same bits. Rows of
// features lie in tiers over them, if there are hot ones: a device reads its own, others' through their links, and the
// rest from main memory, all counted by reader and by owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "minibatch/loader.h"
#include "tiers/tiered_rows.h"
#include "train/batch_inputs.h"
#include "train/batch_plan.h"
#include "train/batches.h"
#include "train/device_split.h"

namespace gneiss::train {

/// What the devices share; all must outlive them.
struct DataParallelParts {
  Session<float>& session;  ///< its parameters are those of the first device
  const data::Dataset& dataset;
  const SessionOptions& options;
  const minibatch::Sampler<NodeId>& sampler;
  ConstMatrixView<float> constants;
  passes::DegreesOf degrees = passes::DegreesOf::kFullGraph;
  std::span<const NodeId> seeds;
  comm::Ranks* processes = nullptr;  ///< each a device; null: all are threads of this process
};

class DataParallel {
 public:
  /// Plans for `room`, which is that of one device, on each of `devices`; `few_slabs` as BatchOptions. Errors:
  /// kUnsupported for models with running statistics, which would be those of a device's own part; kOutOfMemory.
  DataParallel(const DataParallelParts& parts, const minibatch::BatchShape& room, std::int64_t batch_size, int devices,
               int workers, bool few_slabs);
  ~DataParallel();

  /// Features through tiers from now on; null: from main memory. To be followed by restart.
  void set_tiers(std::shared_ptr<const tiers::TieredRows> rows);
  /// Samples through rows of the graph that devices keep from now on; must outlive this. To be followed by restart.
  void set_graph(const GraphTier* graph) { graph_ = graph; }
  void make_room(const minibatch::BatchShape& room);
  /// As BatchTraining.
  void restart(std::uint64_t seed, std::int64_t epoch, std::int64_t done);
  /// The sums behind the epoch's last step. `stats` counts batches of all devices. Errors: a worker's.
  epochs::StepSums epoch(std::int64_t number, double lr, const epochs::StepSums& done, const AfterBatch& after,
                         BatchStats* stats);

  std::int64_t steps_per_epoch() const;
  const BlockPlan& block_plan() const { return *planned_; }
  /// What the devices' plans and parameters take beside the session, without slabs.
  std::int64_t bytes() const;
  /// Rows that each device has read in the last epoch.
  std::vector<tiers::TierTraffic> traffic() const;
  /// Rows of the graph that each device drew from in the last epoch, where some are kept.
  std::vector<tiers::TierTraffic> drawn() const;
  /// Of a process that is not the first: did the first one's `after` end the last epoch?
  bool was_stopped() const { return stops_; }

 private:
  struct Device;

  const minibatch::Sampler<NodeId>& sampler() const { return graph_ == nullptr ? parts_.sampler : graph_->sampler(); }
  void make_plans();
  void start_loader(int index, const minibatch::BatchKey& first);
  std::span<const NodeId> part_of(const minibatch::SeedOrder<NodeId>::Epoch& epoch, std::int64_t step, int index) const;
  bool is_here(std::int64_t device) const {
    return device >= ranks().first() && device < ranks().first() + ranks().here();
  }
  /// Of this process, or the first of all.
  Device& first_here() const { return *devices_[static_cast<std::size_t>(ranks().first())]; }
  comm::Ranks& ranks() const { return parts_.processes != nullptr ? *parts_.processes : *threads_of_this_; }
  bool fits(minibatch::BatchShape shape) const;
  void run(comm::Communicator& communicator, const AfterBatch& after);
  void fit(comm::Communicator& communicator, std::int64_t index, std::optional<minibatch::Loader::Held>* held);
  double step(comm::Communicator& communicator, std::int64_t number, const minibatch::Slab* slab, double weight);
  bool finish_step(comm::Communicator& communicator, double loss, std::int64_t seeds, const AfterBatch& after);
  void share_traffic(comm::Communicator& communicator);
  void copy_weights(Device* device);

  DataParallelParts parts_;
  minibatch::BatchShape room_;
  std::int64_t batch_size_;  ///< of a device
  int workers_;              ///< of each device, that sample ahead
  bool few_slabs_;
  int threads_;  ///< of each device, that step
  std::unique_ptr<BlockPlan> planned_;
  const GraphTier* graph_ = nullptr;
  std::unique_ptr<comm::Ranks> threads_of_this_;  ///< null: there are processes
  std::uint64_t seed_ = 0;
  std::unique_ptr<minibatch::SeedOrder<NodeId>> order_;  ///< of global batches

  // The epoch under way. The first device of this process writes it between two meetings, all of them read it.
  std::int64_t epoch_ = 0;
  double lr_ = 0;
  epochs::StepSums sums_;
  bool stops_ = false;
  BatchStats* stats_ = nullptr;

  std::vector<std::unique_ptr<Device>> devices_;  ///< last: their loaders use all of this
};

}  // namespace gneiss::train
