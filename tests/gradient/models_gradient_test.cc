// Each built-in model with each of its options, against central differences in f64 on awkward graphs.
#include <gtest/gtest.h>

#include <string>

#include "support/awkward_graph.h"
#include "support/compile_model.h"
#include "support/gradient_check.h"

namespace gneiss {
namespace {

using testing::ModelArgs;

struct ModelCase {
  std::string model;
  ModelArgs args;
};

ModelArgs with(ModelArgs base, const ModelArgs& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

std::vector<ModelCase> all_cases() {
  const ModelArgs small = {{"hidden_channels", std::int64_t{4}}, {"num_layers", std::int64_t{3}}};
  std::vector<ModelCase> cases;
  const auto add = [&](const std::string& model, const ModelArgs& args) {
    cases.push_back({model, with(small, args)});
  };
  const auto text = [](const char* value) { return language::ArgValue(std::string(value)); };
  for (const char* model : {"gcn", "sage", "gin", "gat"}) {
    const ModelArgs heads = std::string(model) == "gat" ? ModelArgs{{"heads", std::int64_t{2}}} : ModelArgs{};
    add(model, heads);
    add(model, with(heads, {{"dropout", 0.4}}));
    for (const char* norm : {"batch", "layer", "layer_graph"})
      add(model, with(heads, {{"norm", text(norm)}, {"act", text("elu")}}));
    for (const char* jk : {"last", "cat", "max"}) add(model, with(heads, {{"jk", text(jk)}, {"act", text("tanh")}}));
    add(model, with(heads, {{"residual", true}, {"act", text("tanh")}}));
  }
  for (const char* aggr : {"mean", "max", "sum", "min"}) add("sage", {{"aggr", text(aggr)}, {"act", text("tanh")}});
  add("gin", {{"train_eps", true}, {"act", text("tanh")}});
  add("gat", {{"heads", std::int64_t{2}},
              {"output_heads", std::int64_t{3}},
              {"act", text("tanh")},
              {"attention_dropout", 0.3}});
  add("gat", {{"heads", std::int64_t{2}}, {"v2", true}, {"act", text("tanh")}});
  add("mlp", {{"act", text("tanh")}});
  return cases;
}

std::string describe(const ModelCase& c) {
  std::string text = c.model;
  for (const auto& [name, value] : c.args) {
    text += " " + name;
    if (const auto* word = std::get_if<std::string>(&value)) text += "=" + *word;
  }
  return text;
}

void expect_gradients(const data::Dataset& dataset, const passes::Options& options) {
  for (const ModelCase& c : all_cases()) {
    const ir::Program program = testing::compile_builtin(c.model, dataset, c.args);
    const testing::GradientReport report = testing::check_gradients(program, dataset, options);
    EXPECT_LT(report.relative_error, 1e-6) << describe(c) << ": " << report.worst;
    EXPECT_GT(report.largest_gradient, 1e-3) << describe(c) << ": nothing flows back";
  }
}

TEST(ModelsGradient, WeightedDenseCrossEntropy) {
  passes::Options options;
  options.loss.label_smoothing = 0.1;
  expect_gradients(testing::awkward_dataset({}), options);
}

TEST(ModelsGradient, UnweightedSparseMultilabel) {
  testing::AwkwardOptions awkward;
  awkward.weighted = false;
  awkward.sparse_features = true;
  awkward.labels = data::LabelKind::kMulti;
  passes::Options options;
  options.loss.kind = passes::LossSpec::Kind::kBceWithLogits;
  options.sparse_path = passes::SparsePath::kSparse;
  expect_gradients(testing::awkward_dataset(awkward), options);
}

TEST(ModelsGradient, SelfLoopsThatAreNoEdges) {
  testing::AwkwardOptions awkward;
  awkward.weighted = false;
  awkward.self_loops = false;
  passes::Options options;
  options.repeats = {1e-6, 0};
  options.factor_degree = 0;
  expect_gradients(testing::awkward_dataset(awkward), options);
  options.loss_rows.most_share = 1e9;
  expect_gradients(testing::awkward_dataset(awkward), options);
}

}  // namespace
}  // namespace gneiss
