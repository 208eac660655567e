// profile: how long the stages of mini-batches take on this machine, for plans of --device host:FILE.
#pragma once

#include <filesystem>
#include <string>

#include "schedule/profiler.h"
#include "settings/config.h"

namespace gneiss::jobs {

struct ProfileReport {
  std::string model;
  std::string dataset;
  std::string sampling;
  schedule::Measured measured;
};
/// Prepares and trains batches as `train` with these settings would, a stage at a time, and writes the means to `out`
/// unless that is empty. `workers`: threads that prepare Route 0; 0: half of the threads. Errors: as train; kUsage
/// without a batch size; kDisk.
/// `contended`: by the times that stages take beside each other.
ProfileReport profile(settings::Config config, int workers, bool contended, const std::filesystem::path& out);
std::string describe(const ProfileReport& report);

}  // namespace gneiss::jobs
