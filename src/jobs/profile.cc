// The stages are those of a device of threads: HostWork with two slabs on the device, run by the profiler.
#include "jobs/profile.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "jobs/batch_session.h"
#include "jobs/options.h"
#include "jobs/workload.h"

namespace gneiss::jobs {

ProfileReport profile(settings::Config config, int workers, bool contended, const std::filesystem::path& out) {
  GNEISS_CHECK(trains_batches(config), ErrorCode::kUsage,
               "stages are those of mini-batches: add --batch-size, e.g. --batch-size 1024");
  GNEISS_CHECK(device_count(config) == 1, ErrorCode::kUsage, "stages are those of one device: leave --devices out");
  for (const settings::Setting& setting : settings::settings()) {
    if (setting.key.starts_with("device.")) config.unset(setting.key);  // whoever trains by the profile names one
  }
  Workload workload(&config, PlanFor::kThisMachine);
  const BatchSession made = make_batch_session(config, &workload, false);
  made.session->reset(workload.session().seed);
  made.batches->restart(workload.session().seed);
  ProfileReport report;
  report.model = config.text("model.name");
  report.dataset = workload.dataset().name;
  report.sampling = made.batches->describe_sampling();
  const int threads = train::threads_of(workload.session());
  report.measured =
      made.batches->measure({.workers = workers > 0 ? workers : std::max(1, threads / 2), .contended = contended});
  report.measured.profile.name = fmt::format("{}-{}", report.dataset, report.model);
  if (!out.empty()) write_file(out, schedule::to_json(report.measured.profile));
  return report;
}

std::string describe(const ProfileReport& report) {
  const schedule::Profile& profile = report.measured.profile;
  return fmt::format("stages of {} on {}, {} batches an epoch, {} CPU worker{}; {}\n{}", report.model, report.dataset,
                     profile.batches, profile.workers, profile.workers == 1 ? "" : "s", report.sampling,
                     schedule::describe(report.measured));
}

}  // namespace gneiss::jobs
