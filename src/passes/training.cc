#include "passes/training.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "passes/rewriter.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Phase;
using ir::ValueId;

bool is_leaf(const Op& op) { return op.inputs.empty(); }

/// Appends an inference copy of every op of `program` to `out`; returns where each value's copy is.
std::vector<ValueId> append_inference(const ir::Program& program, ir::Program* out) {
  std::vector<ValueId> copy(program.values.size(), ir::kNoValue);
  for (const Op& op : program.ops) {
    if (is_leaf(op)) {
      copy[static_cast<std::size_t>(op.results[0])] = op.results[0];
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

/// A value's place in a product under the exchange of sources and destinations: what it is and whether it is gathered.
using Factor = std::pair<ValueId, int>;  // (value, 0 own | 1 by source | 2 by destination)

/// Collects the factors of a product of edge values; false if something else than products, gathers and edge weights
/// occurs.
bool collect_factors(const ir::Program& program, const std::vector<std::int32_t>& makers, ValueId value,
                     bool edge_weights_symmetric, std::multiset<Factor>* factors) {
  const Op& op = program.ops[static_cast<std::size_t>(makers[static_cast<std::size_t>(value)])];
  switch (op.kind) {
    case OpKind::mul:
      return std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) {
        return collect_factors(program, makers, v, edge_weights_symmetric, factors);
      });
    case OpKind::gather_src:
      factors->emplace(op.inputs[0], 1);
      return true;
    case OpKind::gather_dst:
      factors->emplace(op.inputs[0], 2);
      return true;
    case OpKind::edge_weight:
      factors->emplace(value, 0);
      return edge_weights_symmetric;
    default:
      return false;
  }
}

/// Does the edge value have the same number on u -> v as on v -> u?
bool equal_both_ways(const ir::Program& program, const std::vector<std::int32_t>& makers, ValueId value,
                     const ir::GraphDef& graph) {
  std::multiset<Factor> factors;
  if (!collect_factors(program, makers, value, graph.symmetric, &factors)) return false;
  std::multiset<Factor> swapped;
  for (const auto& [v, side] : factors) swapped.emplace(v, side == 0 ? 0 : 3 - side);
  return factors == swapped;
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

ir::Program add_loss(const ir::Program& program, const LossSpec& loss) {
  ir::Program out = program;
  const ValueId logits = program.output("train_logits");
  GNEISS_ASSERT(logits != ir::kNoValue, "the program has no logits to take a loss of");
  if (loss.kind == LossSpec::Kind::kNone) return out;
  ir::Builder builder(&out);
  ir::Attrs attrs;
  OpKind kind = OpKind::mse;
  if (loss.kind == LossSpec::Kind::kCrossEntropy) {
    kind = OpKind::cross_entropy;
    attrs.set("label_smoothing", loss.label_smoothing);
  } else if (loss.kind == LossSpec::Kind::kBceWithLogits) {
    kind = OpKind::bce_with_logits;
  }
  const std::vector<ValueId> results = builder.add_all(kind, {logits}, attrs);
  out.outputs.push_back({"loss", results[0]});
  out.outputs.push_back({"dlogits", results[1]});
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

ir::Program use_symmetry(const ir::Program& program) {
  ir::Program out = program;
  const std::vector<std::int32_t> makers = ir::producers(program);
  for (Op& op : out.ops) {
    const auto graph_index = op.attrs.integer("graph", -1);
    if (graph_index < 0) continue;
    const ir::GraphDef& graph = program.graphs[static_cast<std::size_t>(graph_index)];
    if (!graph.symmetric || graph.src_set != graph.dst_set) continue;
    if (op.kind == OpKind::spmm && op.attrs.integer("transpose", 0) == 1 &&
        (op.inputs.size() < 2 || equal_both_ways(program, makers, op.inputs[1], graph))) {
      op.attrs.set("transpose", std::int64_t{0});
    }
    // A gate is kept in the order of the in-edges.
    if (op.kind == OpKind::attention_grad && op.inputs.size() == 6) op.attrs.set("transpose", std::int64_t{0});
  }
  return out;
}

}  // namespace gneiss::passes
