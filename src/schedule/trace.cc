// The format is Chrome's trace events: "X" a slice with begin and duration, "M" the name of a track.
#include "schedule/trace.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/file.h"

namespace gneiss::schedule {
namespace {

constexpr int kLinkTrack = 10000;
constexpr int kDeviceTrack = 10001;

std::string microseconds(Nanoseconds time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

void add_name(std::string* text, const char* what, std::size_t process, int track, const std::string& name) {
  *text += fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}},)"
                       "\n",
                       what, process, track, name);
}

void add_slice(std::string* text, std::size_t process, int track, const Span& span) {
  *text += fmt::format(R"({{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"batch":{}}}}},)"
                       "\n",
                       action_name(span.action), process, track, microseconds(span.begin),
                       microseconds(span.end - span.begin), span.batch);
}

void add_schedule(std::string* text, std::size_t process, const Traced& schedule) {
  const std::vector<Span>& spans = schedule.second->spans;
  int workers = 0;
  for (const Span& span : spans)
    if (span.action == Action::kPrepareOnCpu) workers = std::max(workers, span.worker + 1);
  add_name(text, "process_name", process, 0, schedule.first);
  for (int worker = 0; worker < workers; ++worker)
    add_name(text, "thread_name", process, worker, fmt::format("CPU {}", worker));
  add_name(text, "thread_name", process, kLinkTrack, "link");
  add_name(text, "thread_name", process, kDeviceTrack, "device");
  for (const Span& span : spans) {
    switch (span.action) {
      case Action::kPrepareOnCpu:
        add_slice(text, process, span.worker, span);
        break;
      case Action::kCopy:
        add_slice(text, process, kLinkTrack, span);
        break;
      case Action::kPrepareOnDevice:  // takes both
        add_slice(text, process, kLinkTrack, span);
        add_slice(text, process, kDeviceTrack, span);
        break;
      default:
        add_slice(text, process, kDeviceTrack, span);
    }
  }
}

}  // namespace

std::string trace_text(const std::vector<Traced>& schedules) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (std::size_t i = 0; i < schedules.size(); ++i) add_schedule(&text, i + 1, schedules[i]);
  text.resize(text.size() - 2);  // the last comma
  return text + "\n]}\n";
}

void write_trace(const std::filesystem::path& path, const std::vector<Traced>& schedules) {
  AtomicFile file(path);
  file.write(trace_text(schedules));
  file.commit();
}

}  // namespace gneiss::schedule
