// The search behind mode best.
#pragma once

#include "schedule/plan.h"

namespace gneiss::schedule {

/// The plan whose simulated epoch is the shortest of those tried: how many batches the CPU takes, buffers, and whether
/// a step may delay the link. The two pure routes are among them. Cost: some hundred simulated epochs at most, and none
/// more once a plan is within two thousandths of the lower bound.
Planned best_plan(const Profile& profile, const PlanOptions& options);

}  // namespace gneiss::schedule
