// What a run frees on the way, and when.
#pragma once

#include <cstdint>

#include "ir/plan.h"

namespace gneiss::planner {

/// Fills plan->releases, once steps, bands and places are final. `feature_bytes`: of the data set's features.
void find_releases(ir::Plan* plan, std::int64_t feature_bytes);

}  // namespace gneiss::planner
