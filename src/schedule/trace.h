// Schedules as a file that Perfetto (ui.perfetto.dev) and Chrome show: one track for each CPU worker, one for the link,
// one for the device; the plan and the run as two processes side by side.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedule/run.h"

namespace gneiss::schedule {

/// Trace-event JSON in the making. Times are nanoseconds; the file has microseconds with three decimals.
class TraceEvents {
 public:
  /// Names a process ("process_name") or a track ("thread_name").
  void name(const char* what, std::size_t process, int track, const std::string& name);
  /// `args`: more members of the slice, as JSON.
  void slice(std::size_t process, int track, std::string_view name, Nanoseconds begin, Nanoseconds end,
             const std::string& args);
  /// There must be a name or a slice.
  std::string text() const;
  /// Errors: kDisk.
  void write(const std::filesystem::path& path) const;

 private:
  std::string events_;
};

/// A named schedule: "plan", "run".
using Traced = std::pair<std::string, const Record*>;

std::string trace_text(const std::vector<Traced>& schedules);
/// Errors: kDisk.
void write_trace(const std::filesystem::path& path, const std::vector<Traced>& schedules);

}  // namespace gneiss::schedule
