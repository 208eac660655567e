// Plans the epochs of a training anew, by what its stages take while they run.
//
// A profile holds means of stages that ran alone, or on another machine; beside each other they take longer. After each
// epoch the running means of its stages take the place of the profile's times. Another plan is tried if it is predicted
// to save enough, and given up for good if its epoch turns out no shorter than the shortest before it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "schedule/plan.h"
#include "schedule/profiler.h"
#include "schedule/run.h"

namespace gneiss::schedule {

class Replanner {
 public:
  /// Begins with make_plan(profile, options). Errors: as make_plan.
  Replanner(Profile profile, PlanOptions options);

  /// An epoch by planned() ran, in real time. An epoch that was stopped is ignored. True if planned() is another plan
  /// now; its prediction is by the new means in any case.
  bool observe(const Record& run);

  const Planned& planned() const { return planned_; }
  const Profile& profile() const { return profile_; }
  int changes() const { return changes_; }  ///< of the plan

 private:
  struct Tried {
    Planned planned;
    Nanoseconds epoch = 0;  ///< the shortest that ran
  };

  void take_means(const Record& run);
  void predict();

  PlanOptions options_;
  Profile profile_;
  Planned planned_;
  std::array<std::int64_t, 4> seen_{};  ///< by Action: stages behind the means; not more than are remembered
  Nanoseconds shortest_ = 0;            ///< epoch of the present plan; 0: none ran
  std::optional<Tried> before_;         ///< the plan before the present one
  bool settled_ = false;
  int changes_ = 0;
};

}  // namespace gneiss::schedule
