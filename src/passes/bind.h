// The last pass: a kernel for every op, and what the run needs besides the values.
#pragma once

#include "ir/plan.h"

namespace gneiss::passes {

/// Fills steps, workspace_bytes, graph_uses and feature_transpose of `plan`, choosing kernel variants from sizes alone.
void bind_kernels(ir::Plan* plan);

}  // namespace gneiss::passes
