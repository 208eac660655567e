// Layers of loops over vertices train as the layers that they mean; on a graph with isolated vertices, where a maximum
// over no neighbours must leave what was there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "jobs/options.h"
#include "support/awkward_graph.h"
#include "train/session.h"

namespace gneiss {
namespace {

/// Losses of five steps of a network of two such layers.
std::vector<double> losses(const std::string& body) {
  const std::string path = ::testing::TempDir() + "starplat.gneiss";
  std::ofstream(path) << "layer my(x: node[F], out: int) {\n  x = linear(x, out);\n"
                      << body << "\n  return linear(y, out);\n}\n"
                      << "model net() { return my(tanh(my(features, 8)), num_classes); }\n";
  train::SessionOptions options;
  options.model = path;
  options.threads = 1;
  options.seed = 5;
  const data::Dataset dataset = testing::awkward_dataset({});
  train::Session<double> session(dataset, options);
  std::vector<double> result;
  for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
    result.push_back(session.forward_backward(epoch));
    session.update(0.05);
  }
  std::remove(path.c_str());
  return result;
}

std::string loops(const std::string& start, const std::string& update) {
  return "forall (v in g.nodes()) { " + start + " forall (u in g.neighbors(v)) { " + update + " } }";
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = std::abs(a[i] - b[i]);
    most = std::isnan(apart) ? INFINITY : std::max(most, apart);  // a maximum alone would pass NaN over
  }
  return most;
}

TEST(StarPlatTraining, AsTheLayerOfReductions) {
  EXPECT_EQ(losses(loops("", "v.y += u.x * e.weight;")), losses("y = sum(x@src * edge_weight) over in_edges;"));
  EXPECT_EQ(losses(loops("", "v.y Max= u.x;")), losses("y = max(x@src) over in_edges;"));
  EXPECT_GT(distance(losses(loops("", "v.y Max= u.x;")), losses(loops("", "v.y Min= u.x;"))), 1e-3);
}

/// A vertex that starts with its own value is one more neighbour of itself.
TEST(StarPlatTraining, AMaximumThatStartsFromTheVertexItself) {
  for (const std::string fn : {"Max", "Min"}) {
    const std::string small = fn == "Max" ? "max" : "min";
    const std::vector<double> own = losses(loops("v.y = v.x;", "v.y " + fn + "= u.x;"));
    const std::vector<double> with_loops =
        losses("graph = add_self_loops(graph); y = " + small + "(x@src) over in_edges;");
    EXPECT_LT(distance(own, with_loops), 1e-12) << fn;
    const std::vector<double> careless = losses("y = " + small + "(x, " + small + "(x@src) over in_edges);");
    EXPECT_GT(distance(own, careless), 1e-6) << fn << ": isolated vertices do not show";
  }
}

/// Any constant below all values is as good as none, except where there is no neighbour at all: there it stays.
TEST(StarPlatTraining, AMaximumThatStartsFromANumber) {
  const std::vector<double> from_number = losses(loops("v.y = -3;", "v.y Max= tanh(u.x);"));
  const std::vector<double> by_hand = losses("y = max(tanh(x)@src) over in_edges - 3 * relu(1 - in_degree);");
  EXPECT_LT(distance(from_number, by_hand), 1e-12);
}

/// gnn.optimizer() leaves update rule and rates to the options; what it names stands above their defaults.
TEST(MorphlingTraining, AnOptimizerWithoutASettingIsThatOfTheOptions) {
  settings::Config config;
  config.set("optim.name", "sgd", settings::Origin::kFlag, "--optimizer");
  config.set("optim.lr", "0.5", settings::Origin::kFlag, "--lr");
  language::ScriptSettings script;
  script.epochs = 7;
  script.optimizer = "";
  jobs::apply_script(script, "model.gneiss", &config);
  EXPECT_EQ(config.text("optim.name"), "sgd");
  EXPECT_EQ(config.integer("train.epochs"), 7);
  settings::Config named;
  const double weight_decay = named.real("optim.weight_decay");
  jobs::apply_script(script, "model.gneiss", &named);
  EXPECT_EQ(named.real("optim.weight_decay"), weight_decay);
  script.optimizer = "adamw";
  script.weight_decay = weight_decay + 0.25;
  jobs::apply_script(script, "model.gneiss", &named);
  EXPECT_EQ(named.text("optim.name"), "adamw");
  EXPECT_EQ(named.real("optim.weight_decay"), weight_decay + 0.25);
}

}  // namespace
}  // namespace gneiss
