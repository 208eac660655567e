// Loops over edges, compiled, for the host and for an emulated device, against the same model in f64 on the reference
// kernels, which know no loops: every op that a loop may hold, the layers of tests/synth/models, and expressions drawn
// at random.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "kernels/cuda/emulation.h"
#include "runtime/device.h"
#include "support/awkward_graph.h"
#include "support/data_fixtures.h"
#include "train/blueprint.h"
#include "train/session.h"

namespace gneiss::train {
namespace {

using testing::TempFolder;

/// Keeps what is compiled out of the user's cache.
class EdgeLoops : public ::testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1); }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  SessionOptions options_for(const std::string& model, bool loops) const {
    SessionOptions options;
    options.model = model;
    options.model_args = {{"num_layers", std::int64_t{1}}};  // half the loops to compile
    options.seed = 3;
    options.passes.edge_loops = loops;
    options.passes.keep_training_logits = true;
    return options;
  }

  std::string layer_file(const std::string& body) {
    static int count = 0;
    const std::string name = "layer" + std::to_string(count++) + ".gneiss";
    return cache_.write(name, "layer l(x: node[F], out: int) -> node[out] {\n" + body + "\n}\n").string();
  }

  TempFolder cache_;
};

/// Largest difference of a gradient in f32 from f64, relative to the largest entry of the parameter's.
void expect_same_gradients(const data::Dataset& dataset, const SessionOptions& looped) {
  SessionOptions plain = looped;
  plain.passes.edge_loops = false;
  plain.passes.target = planner::Target::kCpu;
  plain.device = nullptr;
  Session<float> session(dataset, looped);
  ASSERT_TRUE(session.warnings().empty()) << session.warnings()[0];
  EXPECT_FALSE(session.plan().loops.empty()) << "nothing was fused";
  Session<double> reference(dataset, plain);
  for (const ir::Param& param : session.params()) {
    const std::vector<double> values = reference.parameter(param.name);
    const std::vector<float> rounded(values.begin(), values.end());
    session.set_parameter(param.name, rounded);
    reference.set_parameter(param.name, std::vector<double>(rounded.begin(), rounded.end()));
  }
  for (const std::uint64_t epoch : {1, 2}) {
    const double expected_loss = reference.forward_backward(epoch);
    EXPECT_NEAR(session.forward_backward(epoch), expected_loss, 2e-5 * (1 + std::abs(expected_loss)));
    for (const ir::Param& param : session.params()) {
      if (!param.trainable) continue;
      const std::vector<float> found = session.gradient(param.name);
      const std::vector<double> expected = reference.gradient(param.name);
      double size = 1e-3;
      for (const double g : expected) size = std::max(size, std::abs(g));
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 2e-4 * size) << param.name << "[" << i << "] in epoch " << epoch;
    }
  }
  session.evaluate();
  reference.evaluate();
  const auto logits = session.logits();
  for (std::int64_t v = 0; v < logits.rows; ++v) {
    for (std::int64_t c = 0; c < logits.cols; ++c)
      EXPECT_NEAR(logits.at(v, c), reference.logits().at(v, c), 2e-4 * (1 + std::abs(reference.logits().at(v, c))))
          << v << ", " << c;
  }
}

TEST_F(EdgeLoops, LayersOfUsersComputeWhatTheReferenceDoes) {
  const data::Dataset dataset = testing::awkward_dataset({});
  for (const char* name : {"gated_mean", "edge_conv", "own_gatv2", "edge_attention"}) {
    SCOPED_TRACE(name);
    expect_same_gradients(
        dataset, options_for(std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/" + name + ".gneiss", true));
  }
}

SessionOptions on_device(SessionOptions options) {
  options.device = runtime::make_emulated_device();
  options.passes.target = planner::Target::kDevice;
  return options;
}

TEST_F(EdgeLoops, LayersOfUsersOnADevice) {
  const data::Dataset dataset = testing::awkward_dataset({});
  for (const char* name : {"gated_mean", "edge_conv", "own_gatv2", "edge_attention"}) {
    SCOPED_TRACE(name);
    const std::string model = std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/" + name + ".gneiss";
    expect_same_gradients(dataset, on_device(options_for(model, true)));
  }
}

/// A layer whose message is `expression` of a, b (node[6] at the source and at the destination), w and parameters.
std::string layer_of(const std::string& expression, const std::string& reduce) {
  return "  param A: [F, 6];\n  param B: [F, 6];\n  param C: [6, 6];\n  param D: [F, 2];\n  param r: [6];\n  param R: "
         "[6, out];\n"
         "  a = x * A;\n  b = x * B;\n  d = x * D;\n  w = edge_weight;\n  m = " +
         expression + ";\n  y = " + reduce +
         "(m) over in_edges;\n"
         "  return y * R;";
}

TEST_F(EdgeLoops, EveryFunctionOfAnEdge) {
  const data::Dataset dataset = testing::awkward_dataset({});
  const char* const expressions[] = {
      "tanh(a@src + b@dst)",
      "sigmoid(a@src) * exp(b@dst * 0.3) * w",
      "elu(a@src - b@dst, 0.7)",
      "leaky_relu(a@src * b@dst, 0.3) + r",
      "relu(a@src + b@dst) * relu(r + a@src)",
      "log(1 + exp(a@src + b@dst))",
      "sqrt(1 + a@src * a@src + b@dst * b@dst)",
      "rsqrt(2 + a@src * a@src) * b@dst",
      "(a@src + b@dst) / (1.5 + sigmoid(a@src))",
      "max(a@src, b@dst) - min(a@src, r + b@dst)",
      "tanh(a@src * C + b@dst)",
      "relu(tanh(a@src + b@dst) * C + r) * C",
      "concat(tanh(d@src + d@dst), concat(d@src * w, relu(d@dst - d@src)))",
      "(softmax(d@src + tanh(d@dst)) over in_edges) * heads(tanh(a@src + b@dst), 2)",
      "dot(tanh(a@src + b@dst), r) * tanh(a@src)",
      "dropout(tanh(a@src + b@dst), 0.4)",
      "tanh(d@src - d@dst) * heads(tanh(a@src + b@dst), 2)",
      "2.5 - 0.5 * tanh(a@src + b@dst)",
  };
  int index = 0;
  for (const char* expression : expressions) {
    const char* const reductions[] = {"sum", "mean", "max", "min"};
    SCOPED_TRACE(std::string(reductions[index % 4]) + " of " + expression);
    const SessionOptions options = options_for(layer_file(layer_of(expression, reductions[index % 4])), true);
    expect_same_gradients(dataset, options);
    SCOPED_TRACE("on a device");
    expect_same_gradients(dataset, on_device(options));
    ++index;
  }
}

/// An expression of six columns, `depth` operations deep.
std::string random_expression(RandomStream* random, int depth) {
  static const char* const leaves[] = {"a@src", "b@dst", "b@src", "a@dst", "r", "(a@src * w)"};
  if (depth == 0) return leaves[random->below(std::size(leaves))];
  const std::string x = random_expression(random, depth - 1);
  const std::string y = random_expression(random, static_cast<int>(random->below(static_cast<std::uint64_t>(depth))));
  switch (random->below(8)) {
    case 0:
      return "tanh(" + x + ")";
    case 1:
      return "sigmoid(" + x + " - " + y + ")";
    case 2:
      return "(" + x + " + " + y + ")";
    case 3:
      return "(tanh(" + x + ") * " + y + ")";
    case 4:
      return "leaky_relu(" + x + ", 0.2)";
    case 5:
      return "max(" + x + ", 0.5 * " + y + " + a@src)";
    case 6:
      return "((" + x + ") * C)";
    default:
      return "heads(d@src * heads(" + x + ", 2), 1)";
  }
}

TEST_F(EdgeLoops, RandomExpressions) {
  const data::Dataset dataset = testing::awkward_dataset({});
  RandomStream random(11, 0);
  for (int i = 0; i < 4; ++i) {
    const std::string expression = "tanh(" + random_expression(&random, 3) + " + a@src * b@dst)";
    const char* const reductions[] = {"sum", "mean", "max", "min"};
    SCOPED_TRACE(std::string(reductions[i % 4]) + " of " + expression);
    expect_same_gradients(dataset, options_for(layer_file(layer_of(expression, reductions[i % 4])), true));
  }
}

TEST_F(EdgeLoops, NoValueOfAnEdgeIsAsWideAsAMessage) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 60});
  for (const char* name : {"gated_mean", "edge_conv", "own_gatv2"}) {
    const Session<float> session(
        dataset, options_for(std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/" + name + ".gneiss", true));
    const ir::Program& program = session.plan().program;
    for (std::size_t v = 0; v < program.values.size(); ++v) {
      const ir::Storage storage = session.plan().placements[v].storage;
      if (program.values[v].type.domain != ir::Domain::kEdge || storage == ir::Storage::kLoop ||
          storage == ir::Storage::kNone)
        continue;
      EXPECT_LE(program.values[v].type.cols, 2) << name << ": %" << program.values[v].name;
    }
  }
}

/// Of all parameters, one after the other.
std::vector<float> gradients_of(const Session<float>& session) {
  std::vector<float> all;
  for (const ir::Param& param : session.params()) {
    for (const float g : session.gradient(param.name)) all.push_back(g);
  }
  return all;
}

TEST_F(EdgeLoops, AnyNumberOfThreadsGivesTheSameBits) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 900});
  std::vector<std::vector<float>> gradients;
  for (const int threads : {1, 2, 5}) {
    SessionOptions options = options_for(layer_file(layer_of("relu(tanh(a@src + b@dst) * C + r)", "sum")), true);
    options.threads = threads;
    Session<float> session(dataset, options);
    session.forward_backward(1);
    gradients.push_back(gradients_of(session));
  }
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(gradients[0], gradients[2]);
}

/// Threads and blocks in any order, and tasks of any number of threads: the same bits.
TEST_F(EdgeLoops, AnyOrderOfADevicesThreadsGivesTheSameBits) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 900});
  const std::string layer = layer_file(layer_of("relu(tanh(a@src + b@dst) * C + r)", "sum"));
  std::vector<std::vector<float>> gradients;
  for (const std::uint64_t seed : {1, 7, 23}) {
    kernels::emulated::set_order(seed);
    Session<float> session(dataset, on_device(options_for(layer, true)));
    ASSERT_FALSE(session.plan().loops.empty());
    session.forward_backward(1);
    gradients.push_back(gradients_of(session));
  }
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(gradients[0], gradients[2]);
}

/// What a thread has no room for runs by the kernels, with a word on it.
TEST_F(EdgeLoops, RowsThatAreTooWideForADevicesThread) {
  const data::Dataset dataset = testing::awkward_dataset({});
  const std::string layer = layer_file(
      "  param A: [F, 1100];\n  param R: [1100, out];\n  a = x * A;\n  y = sum(tanh(a@src + a@dst)) over in_edges;\n"
      "  return y * R;");
  Session<float> session(dataset, on_device(options_for(layer, true)));
  ASSERT_EQ(session.warnings().size(), 1U);
  EXPECT_NE(session.warnings()[0].find("bytes of each thread"), std::string::npos) << session.warnings()[0];
  EXPECT_NE(session.warnings()[0].find("line 5 of the model"), std::string::npos) << session.warnings()[0];
  EXPECT_TRUE(session.plan().loops.empty());
  EXPECT_TRUE(std::isfinite(session.forward_backward(1)));
}

TEST_F(EdgeLoops, ADevicesPlanTakesLessWithThem) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 900});
  for (const char* name : {"gated_mean", "edge_conv", "own_gatv2"}) {
    const std::string model = std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/" + name + ".gneiss";
    SessionOptions options = options_for(model, true);
    options.passes.target = planner::Target::kDevice;
    const ir::Plan with = make_blueprint(dataset, options).plan;
    options.passes.edge_loops = false;
    const ir::Plan without = make_blueprint(dataset, options).plan;
    EXPECT_FALSE(with.loops.empty()) << name;
    EXPECT_TRUE(without.loops.empty()) << name;
    EXPECT_LT(with.arena_bytes, without.arena_bytes) << name;
  }
}

}  // namespace
}  // namespace gneiss::train
