// Which elementwise ops a device runs on the result of the kernel before them, while that is in registers.
#pragma once

#include <string>
#include <vector>

#include "ir/plan.h"

namespace gneiss::planner {

/// Makes bands, without rows of their own, of a step whose kernel takes an epilogue (spmm's sums, products, attention,
/// elementwise ops) and the elementwise steps that follow it in the same phase, each on the result of the one before:
/// one kernel, which stores what others read and nothing else. Kernels have to be bound, values must not have places
/// yet. `decisions` gets one sentence a chain.
void fuse_epilogues(ir::Plan* plan, std::vector<std::string>* decisions);

}  // namespace gneiss::planner
