// Copies the model's ops into the inference phase: dropout is left out, batch norm uses running statistics, attention
// has no gate. Leaves are shared with training. Each batch norm of training gets an op that updates its statistics.
#include "passes/inference.h"

#include <vector>

#include "passes/dead_code.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

bool is_leaf(const Op& op) { return op.inputs.empty(); }

/// Is it a leaf that reads the graph (degrees, weights) where that changes from step to step? Elsewhere it is computed
/// once.
bool is_made_each_step(const ir::Program& program, const Op& op) {
  const bool data = op.kind == OpKind::input || op.kind == OpKind::param;
  return !data && ir::changes(program, program.type(op.results[0]));
}

/// Appends an inference copy of every op of `program` to `out`; returns where each value's copy is.
std::vector<ValueId> append_inference(const ir::Program& program, ir::Program* out) {
  std::vector<ValueId> copy(program.values.size(), ir::kNoValue);
  for (const Op& op : program.ops) {
    if (is_leaf(op) && !is_made_each_step(program, op)) {
      copy[static_cast<std::size_t>(op.results[0])] = op.results[0];
      continue;
    }
    if (is_leaf(op)) {
      ir::Builder builder(out);
      builder.set_phase(Phase::kInference);
      copy[static_cast<std::size_t>(op.results[0])] = builder.leaf(op.kind, program.type(op.results[0]), op.attrs);
      continue;
    }
    std::vector<ValueId> inputs;
    for (const ValueId input : op.inputs) inputs.push_back(copy[static_cast<std::size_t>(input)]);
    if (op.kind == OpKind::dropout) {
      copy[static_cast<std::size_t>(op.results[0])] = inputs[0];
      continue;
    }
    // The gate of attention is dropout of its weights, nothing else.
    if (op.kind == OpKind::attention) inputs.resize(3);
    ir::Builder builder(out);
    builder.set_phase(Phase::kInference);
    builder.set_location(op.location);
    const OpKind kind = op.kind == OpKind::batch_norm ? OpKind::batch_norm_inference : op.kind;
    const std::vector<ValueId> results = builder.add_all(kind, inputs, op.attrs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i < op.results.size() && op.results[i] != ir::kNoValue)
        copy[static_cast<std::size_t>(op.results[i])] = results[i];
    }
  }
  return copy;
}

}  // namespace

ir::Program add_inference(const ir::Program& model) {
  ir::Program out = model;
  for (const Op& op : model.ops) {
    if (op.kind != OpKind::batch_norm) continue;
    ir::Builder builder(&out);
    builder.set_location(op.location);
    builder.add_all(OpKind::batch_norm_update, {op.inputs[3], op.inputs[4], op.results[1], op.results[2]},
                    {{"momentum", op.attrs.real("momentum", 0.1)}});
  }
  const std::vector<ValueId> copy = append_inference(model, &out);
  for (ir::Output& output : out.outputs) output.value = copy[static_cast<std::size_t>(output.value)];
  out.outputs.push_back({"train_logits", model.output("logits")});
  return out;
}

ir::Program only_inference(const ir::Program& model) {
  ir::Program out = model;
  const std::vector<ValueId> copy = append_inference(model, &out);
  for (ir::Output& output : out.outputs) output.value = copy[static_cast<std::size_t>(output.value)];
  return eliminate_dead_code(out);
}

}  // namespace gneiss::passes
