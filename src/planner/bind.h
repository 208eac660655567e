// A kernel for every op, and what the run needs besides the values.
#pragma once

#include <string>
#include <vector>

#include "ir/plan.h"
#include "planner/source_tiles.h"

namespace gneiss::planner {

/// Fills steps, workspace_bytes, graph_uses and feature_transpose of `plan`, choosing kernel variants from sizes alone.
/// `decisions` gets one sentence per choice.
void bind_kernels(ir::Plan* plan, SourceTiling tiling, const cost::Rates& rates, std::vector<std::string>* decisions);
/// The same for devices, by the kernels that they have; no tiles. Errors: kUnsupported if an op has none.
void bind_device_kernels(ir::Plan* plan);

}  // namespace gneiss::planner
