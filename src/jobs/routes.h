// What a training on a simulated machine tells of it: the plan before, the epoch after, and both as a trace.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "train/batches.h"

namespace gneiss::jobs {

/// "simulated machine uk-sage-b: paper, …": one line about the plan.
std::string describe_plan(const train::RoutedEpoch& epoch);
/// Plan, last epoch, busy shares, bytes and what waited for what: lines for people.
std::string describe_epoch(const train::RoutedEpoch& epoch);
Json to_json(const train::RoutedEpoch& epoch);
/// The plan and, once there is one, the last epoch's run, side by side. Errors: kDisk.
void write_trace(const std::filesystem::path& path, const train::RoutedEpoch& epoch);

}  // namespace gneiss::jobs
