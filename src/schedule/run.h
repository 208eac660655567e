// The loop between a scheduler and a device, and the record of it: the same for a simulation and for a run.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/device.h"
#include "schedule/plan.h"

namespace gneiss::schedule {

/// A stage as it was.
struct Span {
  Action action = Action::kWait;
  std::int64_t batch = 0;
  int worker = 0;  ///< of kPrepareOnCpu
  Nanoseconds begin = 0;
  Nanoseconds end = 0;

  bool operator==(const Span&) const = default;
};

struct Record {
  Nanoseconds epoch = 0;
  std::array<std::int64_t, 2> batches{};  ///< by route
  Nanoseconds cpu_busy = 0;               ///< of all workers together
  Nanoseconds link_busy = 0;              ///< copies, and Route 1 by its share
  Nanoseconds device_busy = 0;            ///< steps, and Route 1 by its share
  Nanoseconds device_waits_for_cpu = 0;   ///< idle, and no batch prepared anywhere
  Nanoseconds device_waits_for_link = 0;  ///< idle while a batch is on the way, or the link is taken
  Nanoseconds cpu_waits_for_room = 0;     ///< of all workers together: batches are left, main memory is full
  Nanoseconds blocked_by_cpu = 0;         ///< kPaper: blocking phases in which the CPU was late
  Nanoseconds blocked_by_device = 0;      ///< and in which the device was
  std::int64_t overlaps = 0;              ///< kPaper and kBest: flushes
  std::vector<std::int64_t> order;        ///< batches in the order of their steps
  std::vector<Span> spans;                ///< by end; empty where they were not asked for
  std::vector<Command> commands;          ///< as they were given; empty likewise
};

/// Runs a plan to its end. `spans`: keep every stage. Errors: the device's.
Record run(const Plan& plan, const Profile& profile, Device& device, bool spans = true);
/// The same by another commander, such as a Replay of a record's commands.
Record run(Commander& commander, const Plan& plan, const Profile& profile, Device& device, bool spans = true);

/// A dry run on a simulated device.
Record simulate(const Plan& plan, const Profile& profile, bool spans = true, std::uint64_t seed = 0);

/// "busy: CPU 99 %, link 46 %, device 98 %; …": lines for people.
std::string describe(const Record& record, const Profile& profile, const Plan& plan);

}  // namespace gneiss::schedule
