// Texts and numbers are made from the records that the scheduler's loop keeps; nothing is computed anew.
#include "jobs/routes.h"

#include <cmath>

#include "base/error.h"
#include "schedule/trace.h"

namespace gneiss::jobs {
namespace {

double part(schedule::Nanoseconds time, schedule::Nanoseconds whole) {
  return whole == 0 ? 0 : static_cast<double>(time) / static_cast<double>(whole);
}

const char* kind(const train::RoutedEpoch& epoch) {
  return epoch.threads ? "device of threads, profile" : "simulated machine";
}

}  // namespace

std::string describe_plan(const train::RoutedEpoch& epoch) {
  const schedule::Planned& planned = epoch.planned;
  const schedule::Plan& plan = planned.plan;
  return fmt::format(
      "{} {}: {}, {} batches by the CPU and {} by the device; epoch {:.3f} s predicted, {:.3f} s at "
      "least; "
      "{}",
      kind(epoch), epoch.profile.name, schedule::mode_name(plan.mode), plan.cpu_batches, plan.device_batches(),
      schedule::to_seconds(planned.epoch), schedule::to_seconds(planned.bound), planned.why);
}

std::string describe_epoch(const train::RoutedEpoch& epoch) {
  const std::string of = epoch.before == 0 ? "an epoch" : fmt::format("behind the first {} batches", epoch.before);
  return fmt::format("{} {}\n{}  run      {:.3f} s {}\n{}", kind(epoch), epoch.profile.name,
                     schedule::describe(epoch.planned), schedule::to_seconds(epoch.run.epoch), of,
                     schedule::describe(epoch.run, epoch.profile, epoch.planned.plan));
}

Json to_json(const train::RoutedEpoch& epoch) {
  const schedule::Planned& planned = epoch.planned;
  const schedule::Plan& plan = planned.plan;
  const schedule::Record& run = epoch.run;
  const schedule::Nanoseconds of_workers = run.epoch * plan.workers;
  Json json = Json::object({{"profile", epoch.profile.name},
                            {"device", epoch.threads ? "host" : "sim"},
                            {"mode", schedule::mode_name(plan.mode)},
                            {"x", plan.x},
                            {"cbs", plan.cbs},
                            {"gbs", plan.gbs},
                            {"first_x", planned.first_x},
                            {"predicted_seconds", schedule::to_seconds(planned.epoch)},
                            {"bound_seconds", schedule::to_seconds(planned.bound)},
                            {"epoch_seconds", schedule::to_seconds(run.epoch)},
                            {"why", planned.why}});
  if (epoch.before > 0) json["resumed_behind"] = epoch.before;
  json["batches"] = Json::object({{"cpu", run.batches[0]}, {"device", run.batches[1]}});
  json["bytes"] = Json::object(
      {{"cpu", run.batches[0] * epoch.profile.dma_bytes}, {"device", run.batches[1] * epoch.profile.uva_bytes}});
  json["busy"] = Json::object({{"cpu", part(run.cpu_busy, of_workers)},
                               {"link", part(run.link_busy, run.epoch)},
                               {"device", part(run.device_busy, run.epoch)}});
  json["blocked"] = Json::object({{"device_for_cpu", part(run.device_waits_for_cpu, run.epoch)},
                                  {"device_for_link", part(run.device_waits_for_link, run.epoch)},
                                  {"cpu_for_room", part(run.cpu_waits_for_room, of_workers)}});
  return json;
}

void write_trace(const std::filesystem::path& path, const train::RoutedEpoch& epoch) {
  std::vector<schedule::Traced> schedules = {{"plan", &epoch.simulated}};
  if (!epoch.run.spans.empty()) schedules.emplace_back("run", &epoch.run);
  schedule::write_trace(path, schedules);
}

}  // namespace gneiss::jobs
