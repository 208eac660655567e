// A training script in Morphling's form is the same program as the model that it describes: equal text of the IR but
// for places.
#include <gtest/gtest.h>

#include "bare_program.h"

namespace gneiss::testing {
namespace {

/// A script of two layers, and the model that it means; `first` and `second` are what forwardPass gets.
std::string script(const std::string& first, const std::string& second) {
  return "function train(Graph g, GNN gnn, int epochs) {\n"
         "  gnn.load(g, \"features\", \"labels\");\n"
         "  gnn.initializeLayers(16);\n"
         "  for (int e = 0; e < epochs; e++) {\n"
         "    gnn.forwardPass(1, " +
         first + ");\n    gnn.forwardPass(2, " + second +
         ");\n"
         "    for (int l = 2; l >= 1; l--) { gnn.backPropagation(l); }\n"
         "    gnn.optimizer();\n  }\n}\n";
}

std::string model(const std::string& first, const std::string& second) {
  return "model train() {\n  h = relu(" + first + " as \"convs.0\");\n  return " + second + " as \"convs.1\";\n}\n";
}

TEST(Morphling, ForwardPassIsTheLayer) {
  struct Case {
    std::string call;
    std::string layer;
    std::string arguments;
  };
  const std::vector<Case> cases = {
      {"\"GCN\"", "gcn", ""},
      {"\"GCN\", \"Sum\"", "gcn", ""},
      {"\"SAGE\", \"Max\"", "sage", ", aggr = \"max\""},
      {"\"SAGE\", \"Mean\"", "sage", ", aggr = \"mean\""},
      {"\"SAGE\", \"Sum\"", "sage", ", aggr = \"sum\""},
      {"\"SAGE\", \"Min\"", "sage", ", aggr = \"min\""},
      {"\"SAGE\"", "sage", ""},
      {"\"sage\", \"ADD\"", "sage", ", aggr = \"sum\""},
      {"\"GIN\", \"Sum\"", "gin", ""},
      {"\"GAT\"", "gat", ""},
      {"\"GAT\", \"Sum\"", "gat", ""},
      {"\"gatv2\"", "gatv2", ""},
  };
  for (const Case& item : cases) {
    EXPECT_EQ(bare_program(script(item.call, item.call)),
              bare_program(model(item.layer + "(features, 16" + item.arguments + ")",
                                 item.layer + "(h, 3" + item.arguments + ")")))
        << item.call;
  }
  EXPECT_NE(bare_program(script("\"SAGE\", \"Max\"", "\"GCN\"")),
            bare_program(script("\"SAGE\", \"Mean\"", "\"GCN\"")));
}

TEST(Morphling, ALayerOfLoopsIsALayer) {
  const std::string loops =
      "layer my(x: node[F], out: int) {\n"
      "  forall (v in g.nodes()) { forall (u in g.neighbors(v)) { v.y Max= u.x; } }\n"
      "  return linear(y, out);\n}\n";
  EXPECT_EQ(bare_program(script("\"my\"", "\"GCN\"") + loops),
            bare_program(model("my(features, 16)", "gcn(h, 3)") + loops));
}

TEST(Morphling, LoopsAndNamesThatMeanTheSame) {
  const std::string plain = bare_program(script("\"GCN\"", "\"GCN\""));
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = script("\"GCN\"", "\"GCN\"");
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return bare_program(text.replace(at, from.size(), to));
  };
  EXPECT_EQ(with("gnn.initializeLayers(16);", "container<int> sizes(1, 16); gnn.init(sizes);"), plain);
  EXPECT_EQ(with("gnn.initializeLayers(16);", "gnn.initializeLayers(16, 3);"), plain);
  EXPECT_EQ(with("for (int l = 2; l >= 1; l--) { gnn.backPropagation(l); }",
                 "int l = 2; while (l > 0) { gnn.backPropagation(l); l--; }"),
            plain);
  EXPECT_EQ(with("for (int e = 0; e < epochs; e++)", "loop (e in 1 to 200 by 1)"), plain);
  EXPECT_EQ(with("gnn.optimizer();", "gnn.adamOptimizer(e, 0.01, 0.9, 0.999, 1e-8, 0.001); gnn.predict();"), plain);
}

TEST(Morphling, TheOptimizerSaysHowItTrains) {
  const auto settings = [](const std::string& call) {
    std::string text = script("\"GCN\"", "\"GCN\"");
    const std::string plain = "gnn.optimizer();";
    text.replace(text.find(plain), plain.size(), call);
    return compile_on_sample(text).script.value();
  };
  EXPECT_EQ(settings("gnn.optimizer();").optimizer, "");  // left to the options of the command
  EXPECT_EQ(settings("gnn.optimizer(\"AdamW\", 0.02);").optimizer, "adamw");
  const language::ScriptSettings counted = settings("gnn.adamOptimizer(e, 0.05, 0.8, 0.99, 1e-6, 0.25);");
  EXPECT_EQ(counted.optimizer, "adam");
  EXPECT_EQ(counted.lr, 0.05);
  EXPECT_EQ(counted.beta1, 0.8);
  EXPECT_EQ(counted.beta2, 0.99);
  EXPECT_EQ(counted.eps, 1e-6);
  EXPECT_EQ(counted.weight_decay, 0.25);
  EXPECT_EQ(settings("gnn.optimizer(\"sgd, 0.1, 0.9, 5e-4\");").momentum, 0.9);
}

}  // namespace
}  // namespace gneiss::testing
