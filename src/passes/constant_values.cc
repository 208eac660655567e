// Starts from states that nothing updates and whose first value does not depend on the seed, then goes through the ops
// in order: a result is constant if all operands are. Leaves without operands (features, weights of edges) are constant
// too. Losses, parameters and dropout never are, nor is what lies on a graph or a node set that changes from step to
// step.
#include "passes/constant_values.h"

#include <algorithm>

namespace gneiss::passes {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

std::vector<bool> constant_values(const ir::Program& program) {
  std::vector<bool> constant(program.values.size(), false);
  for (const ir::Param& param : program.params) {
    const bool same = param.init.kind == ir::Init::Kind::kZeros || param.init.kind == ir::Init::Kind::kOnes ||
                      param.init.kind == ir::Init::Kind::kConstant;
    constant[static_cast<std::size_t>(param.value)] = !param.trainable && same;
  }
  for (const Op& op : program.ops) {  // running statistics change
    if (op.kind == OpKind::batch_norm || op.kind == OpKind::batch_norm_inference) {
      for (const std::size_t i : {std::size_t{3}, std::size_t{4}})
        constant[static_cast<std::size_t>(op.inputs[i])] = false;
    }
  }
  for (const Op& op : program.ops) {
    if (ir::is_loss(op.kind) || op.kind == OpKind::param || op.kind == OpKind::dropout) continue;
    const std::int64_t graph = op.attrs.integer("graph", -1);
    if (graph >= 0 && program.graphs[static_cast<std::size_t>(graph)].changes) continue;
    const bool all = std::all_of(op.inputs.begin(), op.inputs.end(),
                                 [&](ValueId v) { return constant[static_cast<std::size_t>(v)]; });
    for (const ValueId r : op.results) {
      if (r != ir::kNoValue) constant[static_cast<std::size_t>(r)] = all && !ir::changes(program, program.type(r));
    }
  }
  return constant;
}

}  // namespace gneiss::passes
