// Mini-batches prepared by the CPU and by any device whose operators you bring: measured, split, scheduled, run.
//
// A batch is sampled and gathered on the CPU and copied to the device (Route 0), or by the device itself through the
// link (Route 1). The four steps of [zhang2026morphgl]'s listing are
//
//   MachineProfile machine = profile_operators(operators, "NPU", {.batches = 200, .workers = 2});
//   Partitioner partitioner(machine, 200);
//   while (partitioner.next(&partition)) partitioner.feedback(schedule_partition(machine, partition));
//   EpochSchedule schedule = schedule_partition(machine, partitioner.best());
//   for (int epoch = 0; epoch < 3; ++epoch) execute_epoch(operators, "NPU", machine, schedule);
//
// examples/two_routes.cc is a program of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gneiss/schedule.h"

namespace gneiss {

enum class BatchPhase : std::uint8_t { kBatching, kTransferring, kTraining };

/// Does a phase of a batch; `worker` counts the threads of Batching on the CPU. Transferring returns the bytes that it
/// moved, the others anything. Operators of different hardware are called at the same time, each for other batches.
using BatchOperator = std::function<std::int64_t(std::int64_t batch, int worker)>;

/// What does which phase on which hardware: the table of {Phase}_{Hardware}_{Operator}.
class BatchOperators {
 public:
  BatchOperators();
  ~BatchOperators();
  BatchOperators(BatchOperators&&) noexcept;
  BatchOperators& operator=(BatchOperators&&) noexcept;

  /// A machine with the device D and the link L has Batching on "CPU" and on "D+L", Transferring on L, Training on D.
  /// Errors: kUsage for a phase and hardware that have an operator already, and for names that are empty or have a '_'.
  void add(BatchPhase phase, const std::string& hardware, const std::string& name, BatchOperator run);
  std::vector<std::string> names() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

struct ProfileOptions {
  std::int64_t batches = 0;  ///< of an epoch
  int workers = 1;           ///< threads of Batching on the CPU
  std::string link = "PCIe";
  std::int64_t most_rounds = 50;  ///< of measuring each stage, if the means are not known to 2 % before
};

/// Profiler: runs batches through both routes, a stage at a time, and measures how long each takes. Errors: kUsage
/// naming a phase without operator, and for no more batches than workers; what the operators throw.
MachineProfile profile_operators(const BatchOperators& operators, const std::string& device,
                                 const ProfileOptions& options);

/// How an epoch is split: `cpu_buffer` batches of Route 0 for every `device_buffer` of Route 1, trained in one go.
struct Partition {
  std::int64_t batches = 0;        ///< of the epoch
  std::int64_t cpu_batches = 0;    ///< of them by Route 0
  std::int64_t cpu_buffer = 0;     ///< cbs; 0: one route alone
  std::int64_t device_buffer = 0;  ///< gbs
};

/// A partition in time, as a simulation finds it.
struct EpochSchedule {
  Partition partition;
  double epoch_seconds = 0;
  double bound_seconds = 0;  ///< what no schedule can beat
  /// Feedback: of the same partition where no step fills the time that one side waits for the other.
  double waiting_seconds = 0;      ///< the epoch
  double cpu_late_seconds = 0;     ///< the device waited for batches of the CPU
  double device_late_seconds = 0;  ///< the CPU waited for the device
  std::int64_t overlaps = 0;       ///< times that both buffers were full
  std::string text;                ///< lines for people
};

/// Partitioner: proposes partitions, each by what the schedules of those before showed.
class Partitioner {
 public:
  /// Errors: kUsage for less than one batch, or no room on the device.
  Partitioner(const MachineProfile& machine, std::int64_t batches, std::int64_t device_buffer = 10);
  ~Partitioner();
  Partitioner(const Partitioner&) = delete;
  Partitioner& operator=(const Partitioner&) = delete;

  /// The next one to be scheduled; false when they have converged.
  bool next(Partition* partition) const;
  /// What became of the last one. Errors: kUsage for another.
  void feedback(const EpochSchedule& schedule);
  Partition best() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Scheduler: which stage of which batch runs when. Errors: kUsage for a partition that is none of an epoch.
EpochSchedule schedule_partition(const MachineProfile& machine, const Partition& partition);

struct ExecutedEpoch {
  double seconds = 0;
  std::int64_t cpu_batches = 0;
  std::int64_t device_batches = 0;
  std::vector<std::int64_t> order;  ///< batches as they were trained
};

/// Executor: runs one epoch in the scheduled order, each worker, the link and the device on a thread of its own.
/// Errors: as profile_operators.
ExecutedEpoch execute_epoch(const BatchOperators& operators, const std::string& device, const MachineProfile& machine,
                            const EpochSchedule& schedule, const std::string& link = "PCIe");

}  // namespace gneiss
