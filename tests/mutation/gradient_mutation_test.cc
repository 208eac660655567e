// Mutants of the backward pass, each a defect that has been published in some GNN system: every one must be caught by
// the check that the gradient tests use. If a mutant passes, those tests prove nothing about it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "passes/pipeline.h"
#include "support/awkward_graph.h"
#include "support/compile_model.h"
#include "support/gradient_check.h"

namespace gneiss {
namespace {

using ir::Op;
using ir::OpKind;
using testing::ModelArgs;

struct Mutant {
  std::string name;
  std::string model;
  ModelArgs args;
  /// Damages one op and returns true, or leaves it.
  std::function<bool(ir::Program*, Op*)> damage;
};

bool backward(const Op& op, OpKind kind) { return op.kind == kind && op.phase == ir::Phase::kBackward; }

/// Damage to all backward ops of one kind.
std::function<bool(ir::Program*, Op*)> on_backward(OpKind kind, const std::function<void(Op*)>& change) {
  return [=](ir::Program*, Op* op) {
    if (!backward(*op, kind)) return false;
    change(op);
    return true;
  };
}

std::vector<Mutant> all_mutants() {
  const auto text = [](const char* value) { return language::ArgValue(std::string(value)); };
  const ModelArgs heads = {{"heads", std::int64_t{2}}, {"act", text("tanh")}};
  const ModelArgs v2 = {{"heads", std::int64_t{2}}, {"act", text("tanh")}, {"v2", true}};
  const ModelArgs smooth = {{"act", text("tanh")}};
  std::vector<Mutant> mutants;
  mutants.push_back({"the backward product forgets to transpose A", "gcn", smooth,
                     on_backward(OpKind::spmm, [](Op* op) { op->attrs.set("transpose", std::int64_t{0}); })});
  mutants.push_back({"the mean is divided by the sender's degree", "sage", smooth, [](ir::Program*, Op* op) {
                       if (op->kind != OpKind::degree) return false;
                       op->attrs.set("side", std::string("src"));
                       return true;
                     }});
  mutants.push_back({"the mean kernel is run on the transpose", "sage", smooth,
                     on_backward(OpKind::spmm, [](Op* op) { op->attrs.set("fn", std::string("mean")); })});
  mutants.push_back(
      {"dropout draws anew on the way back",
       "gcn",
       {{"act", text("tanh")}, {"dropout", 0.5}},
       on_backward(OpKind::dropout, [](Op* op) { op->attrs.set("stream", op->attrs.integer("stream", 0) + 17); })});
  mutants.push_back({"dropout forgets to rescale",
                     "gcn",
                     {{"act", text("tanh")}, {"dropout", 0.5}},
                     on_backward(OpKind::dropout, [](Op* op) { op->attrs.set("p", 0.0); })});
  mutants.push_back({"softmax is taken for elementwise", "gat", v2, [](ir::Program*, Op* op) {
                       if (op->kind != OpKind::edge_softmax_grad) return false;
                       op->kind = OpKind::mul;
                       op->attrs = {};
                       return true;
                     }});
  mutants.push_back({"the weight gradient takes the two ends the wrong way round", "gat", v2, [](ir::Program*, Op* op) {
                       if (op->kind != OpKind::sddmm) return false;
                       std::swap(op->inputs[0], op->inputs[1]);
                       return true;
                     }});
  mutants.push_back({"the source scores' gradient is reduced at the destination", "gat", v2, [](ir::Program*, Op* op) {
                       if (!backward(*op, OpKind::segment_reduce) || op->attrs.text("side", "dst") != "src")
                         return false;
                       op->attrs.set("side", std::string("dst"));
                       return true;
                     }});
  mutants.push_back({"attention's backward forgets the leaky ReLU of the scores", "gat", heads,
                     on_backward(OpKind::attention_grad, [](Op* op) { op->attrs.set("slope", 1.0); })});
  mutants.push_back(
      {"attention's backward takes the result for its tangent", "gat", heads, [](ir::Program* program, Op* op) {
         // The gradient of the destination's scores is <dy, tangent>; <dy, y> comes before it.
         if (!backward(*op, OpKind::sum_groups) || op->inputs.size() != 2) return false;
         const Op& maker =
             program->ops[static_cast<std::size_t>(ir::producers(*program)[static_cast<std::size_t>(op->inputs[1])])];
         if (maker.kind != OpKind::attention || op->inputs[1] != maker.results[1]) return false;
         op->inputs[1] = maker.results[0];
         return true;
       }});
  mutants.push_back({"attention's backward runs along in-edges", "gat", heads,
                     on_backward(OpKind::attention_grad, [](Op* op) { op->attrs.set("transpose", std::int64_t{0}); })});
  mutants.push_back({"the ReLU's gradient ignores its sign",
                     "gcn",
                     {{"act", text("relu")}},
                     on_backward(OpKind::unary_grad, [](Op* op) {
                       op->attrs.set("fn", std::string("leaky_relu"));
                       op->attrs.set("alpha", 1.0);
                     })});
  mutants.push_back({"one of two gradients is lost where paths meet", "sage", smooth, [](ir::Program*, Op* op) {
                       if (!backward(*op, OpKind::gemm) || op->inputs.size() != 3) return false;
                       op->inputs.pop_back();
                       return true;
                     }});
  mutants.push_back({"a maximum's gradient ignores the edge's weight", "weighted_max", {}, [](ir::Program*, Op* op) {
                       if (op->kind != OpKind::spmm_arg_grad || op->inputs.size() < 3) return false;
                       op->inputs.pop_back();
                       return true;
                     }});
  mutants.push_back({"batch norm's gradient takes the statistics for constants",
                     "gcn",
                     {{"act", text("tanh")}, {"norm", text("batch")}},
                     [](ir::Program*, Op* op) {
                       if (op->kind != OpKind::batch_norm_grad) return false;
                       op->attrs.set("eps", 10.0);
                       return true;
                     }});
  mutants.push_back({"the bias gradient is that of another layer",
                     "gcn",
                     {{"act", text("tanh")}, {"hidden_channels", std::int64_t{3}}},
                     [](ir::Program* p, Op* op) {
                       if (!backward(*op, OpKind::sum_rows)) return false;
                       for (const Op& other : p->ops) {
                         if (backward(other, OpKind::sum_rows) && other.results[0] != op->results[0] &&
                             p->type(other.inputs[0]) == p->type(op->inputs[0])) {
                           op->inputs[0] = other.inputs[0];
                           return true;
                         }
                       }
                       return false;
                     }});
  return mutants;
}

/// A model whose maximum is over weighted neighbours.
constexpr const char* kWeightedMax = R"(
layer weighted_max(x: node[F], out: int) -> node[out] {
  param W: [F, out] = glorot;
  m = max(edge_weight * (x * W)@src) over in_edges;
  return m;
}
model net() { return weighted_max(features, num_classes); }
)";

ir::Program program_of(const Mutant& mutant, const data::Dataset& dataset) {
  if (mutant.model == "weighted_max") return testing::compile_text(kWeightedMax, dataset);
  ModelArgs args = mutant.args;
  args.emplace_back("num_layers", std::int64_t{3});
  if (mutant.name.find("bias") == std::string::npos) args.emplace_back("hidden_channels", std::int64_t{4});
  return testing::compile_builtin(mutant.model, dataset, args);
}

/// Multiplies the gradient of the logits by the number of training nodes: the loss's 1/n forgotten.
void forget_the_mean(ir::Program* program, std::int64_t training_nodes) {
  for (std::size_t i = 0; i < program->ops.size(); ++i) {
    if (program->ops[i].kind != OpKind::cross_entropy) continue;
    const ir::ValueId gradient = program->ops[i].results[1];
    const ir::ValueId scaled = static_cast<ir::ValueId>(program->values.size());
    program->values.push_back({"scaled", program->type(gradient)});
    for (Op& reader : program->ops) std::replace(reader.inputs.begin(), reader.inputs.end(), gradient, scaled);
    Op scale{
        OpKind::affine,        {gradient}, {scaled}, {{"scale", static_cast<double>(training_nodes)}, {"shift", 0.0}},
        program->ops[i].phase, {}};
    program->ops.insert(program->ops.begin() + static_cast<std::ptrdiff_t>(i) + 1, scale);
    return;
  }
  FAIL() << "no loss in the program";
}

TEST(GradientMutation, ForgettingTheMeanOfTheLossIsCaught) {
  const data::Dataset dataset = testing::awkward_dataset({});
  const ir::Program program = testing::compile_builtin("gcn", dataset, {{"act", std::string("tanh")}});
  const auto mutate = [&](ir::Program* p) {
    forget_the_mean(p, static_cast<std::int64_t>(dataset.split.train.size()));
  };
  EXPECT_GT(testing::check_gradients(program, dataset, {}, mutate).relative_error, 1e-3);
}

TEST(GradientMutation, EveryMutantIsCaught) {
  const data::Dataset dataset = testing::awkward_dataset({});
  for (const Mutant& mutant : all_mutants()) {
    const ir::Program program = program_of(mutant, dataset);
    int damaged = 0;
    const auto mutate = [&](ir::Program* p) {
      for (Op& op : p->ops) damaged += mutant.damage(p, &op) ? 1 : 0;
    };
    EXPECT_LT(testing::check_gradients(program, dataset, {}).relative_error, 1e-6) << "unharmed: " << mutant.name;
    const double error = testing::check_gradients(program, dataset, {}, mutate).relative_error;
    EXPECT_GT(damaged, 0) << "found nothing to damage: " << mutant.name;
    EXPECT_GT(error, 1e-3) << "survived: " << mutant.name;
  }
}

}  // namespace
}  // namespace gneiss
