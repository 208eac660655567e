// The Dispatcher of [zhang2026morphgl]: finds the buffers of Dual-Buffer Scheduling by trying them.
//
// x by Eq. 6 and cbs = floor(gbs / x) are tried first; then cbs moves by one towards the side that kept the other
// waiting, until the wait of an overlap is shorter than one Route 1 batch, or a plan comes up again. It asks for one
// plan after the other and is told what became of each, so that a simulation or a run may do the trying.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "schedule/plan.h"
#include "schedule/run.h"

namespace gneiss::schedule {

class Dispatcher {
 public:
  Dispatcher(const Profile& profile, std::int64_t batches, std::int64_t gbs);

  /// The plan to be tried next, with nothing that hides who waits for whom; none when the search is over.
  std::optional<Plan> next() const;
  /// What became of it.
  void observe(const Record& record);
  /// The best plan so far. `epoch` and `bound` are left to the caller.
  const Planned& planned() const { return planned_; }

 private:
  const Profile& profile_;
  std::int64_t batches_;
  std::int64_t gbs_;
  Planned planned_;
  std::int64_t cbs_ = 0;
  bool ended_ = false;
  std::map<std::int64_t, Nanoseconds> tried_;  ///< epochs by cbs
  Nanoseconds least_;
};

}  // namespace gneiss::schedule
