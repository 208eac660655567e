// Reverse-mode differentiation: one sweep over the forward ops from last to first, one rule per op (gradients.cc).
#include "passes/differentiate.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"
#include "passes/gradients.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

/// Which values a trained parameter has a part in.
std::vector<bool> trained_values(const ir::Program& program) {
  std::vector<bool> trained(program.values.size(), false);
  for (const ir::Param& param : program.params) trained[static_cast<std::size_t>(param.value)] = param.trainable;
  for (const Op& op : program.ops) {
    const bool any = std::any_of(op.inputs.begin(), op.inputs.end(),
                                 [&](ValueId v) { return trained[static_cast<std::size_t>(v)]; });
    for (const ValueId r : op.results) {
      if (r != ir::kNoValue && any) trained[static_cast<std::size_t>(r)] = true;
    }
  }
  return trained;
}

/// Gives ops that have a gradient the optional results it needs: which edge won a maximum, what attention saves.
void keep_side_results(ir::Program* program, const std::vector<bool>& trained) {
  for (Op& op : program->ops) {
    if (op.phase == Phase::kInference || op.results.size() < 2 || !trained[static_cast<std::size_t>(op.results[0])])
      continue;
    std::vector<ir::Type> operands;
    for (const ValueId input : op.inputs) operands.push_back(program->type(input));
    std::vector<ir::Type> types;
    ir::infer_types(*program, op.kind, operands, op.attrs, &types);
    for (std::size_t i = 1; i < op.results.size(); ++i) {
      if (!ir::is_optional_result(op.kind, i) || op.results[i] != ir::kNoValue) continue;
      op.results[i] = static_cast<ValueId>(program->values.size());
      program->values.push_back({fmt::format("{}.{}", ir::traits(op.kind).name, op.results[i]), types[i]});
    }
  }
}

}  // namespace

ir::Program differentiate(const ir::Program& program) {
  ir::Program out = program;
  keep_side_results(&out, trained_values(program));
  const std::vector<bool> trained = trained_values(out);
  const std::vector<Op> forward = out.ops;
  std::vector<ValueId> gradients(out.values.size(), ir::kNoValue);
  gradients[static_cast<std::size_t>(out.output("train_logits"))] = out.output("dlogits");
  ir::Builder builder(&out);
  builder.set_phase(Phase::kBackward);
  for (auto op = forward.rbegin(); op != forward.rend(); ++op) {
    if (op->phase == Phase::kInference || op->inputs.empty() || op->results.empty()) continue;
    const ValueId result = op->results[0];
    if (gradients[static_cast<std::size_t>(result)] == ir::kNoValue) continue;
    if (std::none_of(op->inputs.begin(), op->inputs.end(),
                     [&](ValueId v) { return trained[static_cast<std::size_t>(v)]; }))
      continue;
    builder.set_location(op->location);
    GradientContext context(&builder, *op, &gradients, trained);
    if (!apply_gradient_rule(context)) {
      throw Error(ErrorCode::kUnsupported, fmt::format("'{}' has no gradient", ir::traits(op->kind).name),
                  fmt::format("{}:{}:{}", program.name, op->location.line, op->location.column),
                  "use it only on values that no parameter has a part in");
    }
  }
  for (ir::Param& param : out.params) {
    if (param.trainable) param.grad = gradients[static_cast<std::size_t>(param.value)];
  }
  std::stable_sort(out.ops.begin(), out.ops.end(), [](const Op& a, const Op& b) { return a.phase < b.phase; });
  return out;
}

ir::Program drop_scaffolding(const ir::Program& program, bool keep_training_logits) {
  ir::Program out = program;
  std::erase_if(out.outputs, [&](const ir::Output& output) {
    return output.name == "dlogits" || (output.name == "train_logits" && !keep_training_logits);
  });
  return out;
}

ir::Program separate_gradients(const ir::Program& program) {
  ir::Program out = program;
  const std::vector<std::int32_t> makers = ir::producers(program);
  std::set<ValueId> taken;
  for (ir::Param& param : out.params) {
    if (param.grad == ir::kNoValue) continue;
    const Op& op = out.ops[static_cast<std::size_t>(makers[static_cast<std::size_t>(param.grad)])];
    const bool own = op.phase == Phase::kBackward && taken.insert(param.grad).second;
    if (own) continue;
    ir::Builder builder(&out);
    builder.set_phase(Phase::kBackward);
    param.grad = builder.add(OpKind::affine, {param.grad}, {{"scale", 1.0}, {"shift", 0.0}});
  }
  std::stable_sort(out.ops.begin(), out.ops.end(), [](const Op& a, const Op& b) { return a.phase < b.phase; });
  return out;
}

}  // namespace gneiss::passes
