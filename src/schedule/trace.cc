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

void add_slice(TraceEvents* events, std::size_t process, int track, const Span& span) {
  events->slice(process, track, action_name(span.action), span.begin, span.end,
                fmt::format(R"("batch":{})", span.batch));
}

void add_schedule(TraceEvents* events, std::size_t process, const Traced& schedule) {
  const std::vector<Span>& spans = schedule.second->spans;
  int workers = 0;
  for (const Span& span : spans)
    if (span.action == Action::kPrepareOnCpu) workers = std::max(workers, span.worker + 1);
  events->name("process_name", process, 0, schedule.first);
  for (int worker = 0; worker < workers; ++worker)
    events->name("thread_name", process, worker, fmt::format("CPU {}", worker));
  events->name("thread_name", process, kLinkTrack, "link");
  events->name("thread_name", process, kDeviceTrack, "device");
  for (const Span& span : spans) {
    switch (span.action) {
      case Action::kPrepareOnCpu:
        add_slice(events, process, span.worker, span);
        break;
      case Action::kCopy:
        add_slice(events, process, kLinkTrack, span);
        break;
      case Action::kPrepareOnDevice:  // takes both
        add_slice(events, process, kLinkTrack, span);
        add_slice(events, process, kDeviceTrack, span);
        break;
      default:
        add_slice(events, process, kDeviceTrack, span);
    }
  }
}

}  // namespace

void TraceEvents::name(const char* what, std::size_t process, int track, const std::string& name) {
  events_ += fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}},)"
                         "\n",
                         what, process, track, name);
}

void TraceEvents::slice(std::size_t process, int track, std::string_view name, Nanoseconds begin, Nanoseconds end,
                        const std::string& args) {
  events_ += fmt::format(R"({{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}},)"
                         "\n",
                         name, process, track, microseconds(begin), microseconds(end - begin), args);
}

std::string TraceEvents::text() const {
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events_.substr(0, events_.size() - 2) + "\n]}\n";
}

void TraceEvents::write(const std::filesystem::path& path) const {
  AtomicFile file(path);
  file.write(text());
  file.commit();
}

std::string trace_text(const std::vector<Traced>& schedules) {
  TraceEvents events;
  for (std::size_t i = 0; i < schedules.size(); ++i) add_schedule(&events, i + 1, schedules[i]);
  return events.text();
}

void write_trace(const std::filesystem::path& path, const std::vector<Traced>& schedules) {
  TraceEvents events;
  for (std::size_t i = 0; i < schedules.size(); ++i) add_schedule(&events, i + 1, schedules[i]);
  events.write(path);
}

}  // namespace gneiss::schedule
