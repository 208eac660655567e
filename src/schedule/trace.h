// Schedules as a file that Perfetto (ui.perfetto.dev) and Chrome show: one track for each CPU worker, one for the link,
// one for the device; the plan and the run as two processes side by side.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "schedule/run.h"

namespace gneiss::schedule {

/// A named schedule: "plan", "run".
using Traced = std::pair<std::string, const Record*>;

/// Trace-event JSON; times are microseconds with three decimals, so that nanoseconds survive.
std::string trace_text(const std::vector<Traced>& schedules);
/// Errors: kDisk.
void write_trace(const std::filesystem::path& path, const std::vector<Traced>& schedules);

}  // namespace gneiss::schedule
