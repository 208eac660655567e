// What a device does and what it waits for, by the clock: sums, gets and waits, so that people see what hides behind
// what. Clocks of the processes of one machine are the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

namespace gneiss::pgas {

enum class Activity : std::uint8_t {
  kLocalSum,   ///< over edges from own nodes, or of rows that need no others
  kRemoteSum,  ///< over edges from others' nodes, or of rows that have such
  kSum,        ///< over both
  kGet,        ///< rows on their way, from when the link is theirs
  kWait,       ///< for rows
};
/// "local sum", "remote sum", "sum", "get" or "wait".
const char* activity_name(Activity what);

class Timeline {
 public:
  using Clock = std::chrono::steady_clock;

  struct Span {
    Activity what = Activity::kSum;
    Clock::time_point begin;
    Clock::time_point end;
    int from = -1;           ///< of a get: the device
    std::int64_t bytes = 0;  ///< likewise
  };

  /// Of any thread. The first kMost since the last clear are kept.
  void add(const Span& span);
  void clear();
  std::vector<Span> spans() const;

  static constexpr std::size_t kMost = std::size_t{1} << 18;

 private:
  mutable std::mutex mutex_;
  std::vector<Span> spans_;
};

/// Does `work`, and notes when, where there is a timeline.
template <class Work>
void noted(Timeline* timeline, Activity what, const Work& work) {
  if (timeline == nullptr) return work();
  const Timeline::Clock::time_point begin = Timeline::Clock::now();
  work();
  timeline->add({.what = what, .begin = begin, .end = Timeline::Clock::now()});
}

}  // namespace gneiss::pgas
