// Operators of users through the profiler, the dispatcher, the simulation and the device of threads of schedule/.
#include "gneiss/two_routes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "api/machine.h"
#include "base/error.h"
#include "schedule/dispatcher.h"
#include "schedule/host_device.h"
#include "schedule/profiler.h"
#include "schedule/registry.h"
#include "schedule/replay.h"

namespace gneiss {

struct BatchOperators::Impl {
  schedule::Registry registry;
};

BatchOperators::BatchOperators() : impl_(std::make_unique<Impl>()) {}
BatchOperators::~BatchOperators() = default;
BatchOperators::BatchOperators(BatchOperators&&) noexcept = default;
BatchOperators& BatchOperators::operator=(BatchOperators&&) noexcept = default;

void BatchOperators::add(BatchPhase phase, const std::string& hardware, const std::string& name, BatchOperator run) {
  constexpr schedule::Phase kPhases[] = {schedule::Phase::kBatching, schedule::Phase::kTransferring,
                                         schedule::Phase::kTraining};
  impl_->registry.add(kPhases[static_cast<std::size_t>(phase)], hardware, name, std::move(run));
}

std::vector<std::string> BatchOperators::names() const {
  std::vector<std::string> names;
  for (const schedule::Registry::Entry& entry : impl_->registry.entries()) names.push_back(entry.full_name());
  return names;
}

MachineProfile profile_operators(const BatchOperators& operators, const std::string& device,
                                 const ProfileOptions& options) {
  const std::unique_ptr<schedule::Work> work = operators.impl().registry.work(device, options.link);
  schedule::ProfilerOptions asked;
  asked.workers = options.workers;
  asked.most_rounds = options.most_rounds;
  asked.least_rounds = std::min(asked.least_rounds, options.most_rounds);
  schedule::Measured measured = schedule::measure(*work, options.batches, asked);
  measured.profile.name = device;
  return to_public(measured.profile);
}

namespace {

schedule::Nanoseconds nanoseconds(double seconds) { return std::llround(1e9 * seconds); }

Partition partition_of(const schedule::Plan& plan) {
  const bool both = plan.mode == schedule::Mode::kPaper;
  return {plan.batches, plan.cpu_batches, both ? plan.cbs : 0, plan.gbs};
}

schedule::Plan plan_of(const schedule::Profile& profile, const Partition& partition) {
  const bool both = partition.cpu_buffer > 0;
  const bool pure = partition.cpu_batches == 0 || partition.cpu_batches == partition.batches;
  GNEISS_CHECK(partition.batches >= 1 && partition.device_buffer >= 1 && partition.cpu_buffer >= 0 && (both || pure),
               ErrorCode::kUsage,
               "expected a partition of an epoch, got {} batches, {} of the CPU, in buffers of {} and {}",
               partition.batches, partition.cpu_batches, partition.cpu_buffer, partition.device_buffer);
  if (both)
    return schedule::dual_buffer_plan(profile, partition.batches, partition.cpu_buffer, partition.device_buffer);
  return schedule::plain_plan(profile, partition.cpu_batches == 0 ? schedule::Mode::kDevice : schedule::Mode::kCpu,
                              partition.batches, partition.cpu_batches, partition.device_buffer);
}

}  // namespace

struct Partitioner::Impl {
  schedule::Profile profile;
  schedule::Dispatcher dispatcher;

  Impl(const MachineProfile& machine, std::int64_t batches, std::int64_t device_buffer)
      : profile(from_public(machine)), dispatcher(profile, batches, device_buffer) {}
};

Partitioner::Partitioner(const MachineProfile& machine, std::int64_t batches, std::int64_t device_buffer) {
  GNEISS_CHECK(batches >= 1 && device_buffer >= 1, ErrorCode::kUsage,
               "expected an epoch of one batch at least and room for one on the device, got {} and {}", batches,
               device_buffer);
  impl_ = std::make_unique<Impl>(machine, batches, device_buffer);
}

Partitioner::~Partitioner() = default;

bool Partitioner::next(Partition* partition) const {
  const std::optional<schedule::Plan> plan = impl_->dispatcher.next();
  if (plan) *partition = partition_of(*plan);
  return plan.has_value();
}

void Partitioner::feedback(const EpochSchedule& schedule) {
  const std::optional<schedule::Plan> plan = impl_->dispatcher.next();
  GNEISS_CHECK(plan && plan->cbs == schedule.partition.cpu_buffer && plan->gbs == schedule.partition.device_buffer,
               ErrorCode::kUsage, "feedback is for the partition that next() gave, with buffers of {} and {}",
               plan ? plan->cbs : 0, plan ? plan->gbs : 0);
  schedule::Record record;
  record.epoch = nanoseconds(schedule.waiting_seconds);
  record.blocked_by_cpu = nanoseconds(schedule.cpu_late_seconds);
  record.blocked_by_device = nanoseconds(schedule.device_late_seconds);
  record.overlaps = schedule.overlaps;
  impl_->dispatcher.observe(record);
}

Partition Partitioner::best() const { return partition_of(impl_->dispatcher.planned().plan); }

EpochSchedule schedule_partition(const MachineProfile& machine, const Partition& partition) {
  const schedule::Profile profile = from_public(machine);
  const schedule::Plan plan = plan_of(profile, partition);
  const schedule::Record record = schedule::simulate(plan, profile, false);
  EpochSchedule made;
  made.partition = partition_of(plan);
  made.epoch_seconds = schedule::to_seconds(record.epoch);
  made.bound_seconds = schedule::to_seconds(schedule::lower_bound(profile, plan.batches));
  schedule::Plan waiting = plan;
  waiting.train_while_waiting = false;
  const schedule::Record waits = schedule::simulate(waiting, profile, false);
  made.waiting_seconds = schedule::to_seconds(waits.epoch);
  made.cpu_late_seconds = schedule::to_seconds(waits.blocked_by_cpu);
  made.device_late_seconds = schedule::to_seconds(waits.blocked_by_device);
  made.overlaps = waits.overlaps;
  made.text = schedule::describe(record, profile, plan);
  return made;
}

ExecutedEpoch execute_epoch(const BatchOperators& operators, const std::string& device, const MachineProfile& machine,
                            const EpochSchedule& schedule, const std::string& link) {
  const std::unique_ptr<schedule::Work> work = operators.impl().registry.work(device, link);
  const schedule::Profile profile = from_public(machine);
  const schedule::Plan plan = plan_of(profile, schedule.partition);
  schedule::HostDevice threads(work.get(), profile.workers);
  schedule::Replay planned_order(plan, schedule::simulate(plan, profile).commands);
  const schedule::Record record = schedule::run(planned_order, plan, profile, threads, false);
  return {schedule::to_seconds(record.epoch), record.batches[0], record.batches[1], record.order};
}

}  // namespace gneiss
