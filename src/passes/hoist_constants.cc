// Gives every op with a constant result the setup phase and moves the setup to the front. A to_float goes along only if
// an op of the setup wants its result: the widened features are twice as large as what they are made from.
#include "passes/hoist_constants.h"

#include <algorithm>
#include <vector>

#include "passes/constant_values.h"

namespace gneiss::passes {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

ir::Program hoist_constants(const ir::Program& program) {
  ir::Program out = program;
  const std::vector<bool> constant = constant_values(program);
  for (Op& op : out.ops) {
    const bool once = !op.results.empty() && constant[static_cast<std::size_t>(op.results[0])];
    if (once && op.kind != OpKind::to_float) op.phase = Phase::kSetup;
  }
  // Widened features are constant, but twice the size of what they are made from: only ops of the setup may want them
  // there.
  std::vector<bool> wanted(program.values.size(), false);
  for (const Op& op : out.ops) {
    for (const ValueId input : op.inputs)
      wanted[static_cast<std::size_t>(input)] = wanted[static_cast<std::size_t>(input)] || op.phase == Phase::kSetup;
  }
  for (Op& op : out.ops) {
    if (op.kind == OpKind::to_float && wanted[static_cast<std::size_t>(op.results[0])]) op.phase = Phase::kSetup;
  }
  // Setup ops come first; their operands are setup values, so the order stays valid.
  std::stable_partition(out.ops.begin(), out.ops.end(), [](const Op& op) { return op.phase == Phase::kSetup; });
  return out;
}

}  // namespace gneiss::passes
