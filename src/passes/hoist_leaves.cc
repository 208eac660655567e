// Leaves that read the graph move to the setup where evaluation needs them: forward would make them in memory that it
// gives away again.
#include "passes/hoist_leaves.h"

#include <algorithm>

namespace gneiss::passes {

ir::Program hoist_leaves(const ir::Program& program) {
  ir::Program out = program;
  for (ir::Op& op : out.ops) {
    const bool stored_elsewhere = op.kind == ir::OpKind::input || op.kind == ir::OpKind::param;
    if (op.inputs.empty() && !stored_elsewhere) op.phase = ir::Phase::kSetup;
  }
  // They need no operands, so that every order is valid.
  std::stable_partition(out.ops.begin(), out.ops.end(), [](const ir::Op& op) { return op.phase == ir::Phase::kSetup; });
  return out;
}

}  // namespace gneiss::passes
