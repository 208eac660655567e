// Spans are put one behind the other under a lock: the thread that sums and the one that copies rows both note theirs.
// There are a few for each exchange, but thousands by the exchange fine, so that their number is bounded.
#include "pgas/timeline.h"

namespace gneiss::pgas {

const char* activity_name(Activity what) {
  constexpr const char* kNames[] = {"local sum", "remote sum", "sum", "get", "wait"};
  return kNames[static_cast<int>(what)];
}

void Timeline::add(const Span& span) {
  const std::lock_guard lock(mutex_);
  if (spans_.size() < kMost) spans_.push_back(span);
}

void Timeline::clear() {
  const std::lock_guard lock(mutex_);
  spans_.clear();
}

std::vector<Timeline::Span> Timeline::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_;
}

}  // namespace gneiss::pgas
