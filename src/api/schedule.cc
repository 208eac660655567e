// Plans and simulated epochs from the command and the public API, over schedule/.
#include "gneiss/schedule.h"

#include "api/impl.h"
#include "api/machine.h"
#include "base/error.h"
#include "jobs/profile.h"
#include "jobs/routes.h"
#include "schedule/machine.h"
#include "schedule/plan.h"
#include "schedule/profile.h"
#include "schedule/trace.h"

namespace gneiss {

std::vector<MachineProfile> machine_profiles() {
  std::vector<MachineProfile> list;
  for (const schedule::Profile& profile : schedule::named_profiles()) list.push_back(to_public(profile));
  return list;
}

std::vector<SimulatedMachine> simulated_machines() {
  std::vector<SimulatedMachine> list;
  for (const schedule::Machine& machine : schedule::machines())
    list.push_back({std::string(machine.name), std::string(machine.summary)});
  return list;
}

ScheduleResult simulate_schedule(const ScheduleRequest& request) {
  train::RoutedEpoch epoch;
  epoch.profile = schedule::find_profile(request.profile);
  const std::int64_t batches = request.batches != 0 ? request.batches : epoch.profile.batches;
  GNEISS_CHECK(batches > 0 && batches <= 10'000'000, ErrorCode::kUsage,
               "expected 1 to 10000000 batches an epoch, got {}; the profile names {}", request.batches,
               epoch.profile.batches);
  epoch.planned = schedule::make_plan(epoch.profile, {schedule::parse_choice(request.schedule.text(), "--schedule"),
                                                      batches, request.device_batches, request.seed});
  epoch.simulated = schedule::simulate(epoch.planned.plan, epoch.profile);
  epoch.run = epoch.simulated;
  if (!request.trace.empty()) schedule::write_trace(request.trace, {{"plan", &epoch.simulated}});
  return {jobs::describe_epoch(epoch), jobs::to_json(epoch).dump(2), schedule::to_seconds(epoch.run.epoch),
          schedule::to_seconds(epoch.planned.bound)};
}

ProfileResult profile_training(const RunConfig& config, const ProfileRequest& request) {
  const jobs::ProfileReport report =
      jobs::profile(config.impl().config, request.workers, request.contended, request.out);
  return {jobs::describe(report), schedule::to_json(report.measured.profile)};
}

}  // namespace gneiss
