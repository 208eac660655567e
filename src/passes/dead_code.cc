// Marks what is needed from the back: outputs, gradients of parameters, then the operands of every op with a needed
// result. Ops with an effect of their own (batch_norm_update) and parameters stay, and so does the wait for rows that
// are needed. A second walk copies the ops that live.
#include "passes/dead_code.h"

#include <algorithm>
#include <vector>

#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// Ops that must run although nobody reads a result, and leaves that name what a program is about.
bool is_root(const Op& op) { return op.kind == OpKind::batch_norm_update || op.kind == OpKind::param; }

bool is_live(const Op& op, const std::vector<bool>& needed) {
  const auto is_needed = [&](ValueId v) { return v != ir::kNoValue && needed[static_cast<std::size_t>(v)]; };
  if (op.kind == OpKind::halo_wait) return is_needed(op.inputs[0]);  // without it, the rows are read before they come
  return is_root(op) || std::any_of(op.results.begin(), op.results.end(), is_needed);
}

std::vector<bool> needed_values(const ir::Program& program) {
  std::vector<bool> needed(program.values.size(), false);
  for (const ir::Output& out : program.outputs) needed[static_cast<std::size_t>(out.value)] = true;
  for (const ir::Param& param : program.params) {
    if (param.grad != ir::kNoValue) needed[static_cast<std::size_t>(param.grad)] = true;
  }
  for (auto op = program.ops.rbegin(); op != program.ops.rend(); ++op) {
    if (!is_live(*op, needed)) continue;
    for (const ValueId input : op->inputs) needed[static_cast<std::size_t>(input)] = true;
  }
  return needed;
}

}  // namespace

ir::Program eliminate_dead_code(const ir::Program& program) {
  const std::vector<bool> needed = needed_values(program);
  const std::vector<std::int32_t> uses = ir::use_counts(program);
  Rewriter rewriter(program);
  for (const Op& op : program.ops) {
    if (!is_live(op, needed)) continue;
    Op kept = op;
    for (std::size_t i = 1; i < op.results.size(); ++i) {
      const ValueId r = op.results[i];
      if (ir::is_optional_result(op.kind, i) && r != ir::kNoValue && uses[static_cast<std::size_t>(r)] == 0) {
        kept.results[i] = ir::kNoValue;
      }
    }
    rewriter.copy(kept);
  }
  return rewriter.finish();
}

}  // namespace gneiss::passes
