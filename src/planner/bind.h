// A kernel for every op, and what the run needs besides the values.
#pragma once

#include <string>
#include <vector>

#include "ir/plan.h"
#include "planner/source_tiles.h"

namespace gneiss::planner {

/// Fills steps, workspace_bytes, graph_uses, features_kept and feature_transpose of `plan`, choosing kernel variants
/// from sizes alone. `decisions` gets one sentence per choice.
void bind_kernels(ir::Plan* plan, SourceTiling tiling, const cost::Rates& rates, std::vector<std::string>* decisions);
/// The same for devices, by the kernels that they have; no tiles. Errors: kUnsupported if an op has none.
void bind_device_kernels(ir::Plan* plan);

bool runs_along_out_edges(const ir::Op& op);
/// Of those ops, the ones that read nothing of an edge but its ends.
bool reads_ends_only(const ir::Op& op);

}  // namespace gneiss::planner
