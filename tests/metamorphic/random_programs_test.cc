// Programs drawn at random: well-typed layers of products, sums along edges, attention, norms and built-in layers. In
// f64, under any set of passes, their gradients are those of central differences; in f32, with all passes and kernels,
// losses, gradients and logits are those of the reference kernels on the program as it is written.
//
// A failure names its seed and shows the program; GNEISS_RANDOM_PROGRAM=seed replays that one, GNEISS_FUZZ_ROUNDS=n
// draws more of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/load.h"
#include "support/awkward_graph.h"
#include "support/compile_model.h"
#include "support/data_fixtures.h"
#include "support/gradient_check.h"
#include "train/session.h"

namespace gneiss {
namespace {

/// Writes a layer statement by statement; each makes one more value of the nodes.
class ProgramWriter {
 public:
  ProgramWriter(std::uint64_t seed, std::int64_t features) : random_(seed, 0x9067), nodes_{{"x", features}} {}

  std::string write() {
    if (one_in(3)) add_line("graph = add_self_loops(graph);");
    const std::uint64_t statements = 3 + below(6);
    for (std::uint64_t i = 0; i < statements; ++i) add_statement();
    const Node last = nodes_.back();
    const std::string out = param({std::to_string(last.width), "out"});
    add_line("return " + last.name + " * " + out + " + " + param({"out"}) + ";");
    return "layer random(x: node[" + std::to_string(nodes_[0].width) + "], out: int) -> node[out] {\n" + body_ +
           "}\nmodel net() { return random(features, num_classes) as \"r\"; }\n";
  }

 private:
  struct Node {
    std::string name;
    std::int64_t width;
  };

  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <std::size_t N>
  std::string one_of(const char* const (&words)[N]) {
    return words[below(N)];
  }

  void add_line(const std::string& line) { body_ += "  " + line + "\n"; }

  std::string param(const std::vector<std::string>& dims) {
    const std::string name = "P" + std::to_string(params_++);
    std::string list;
    for (const std::string& dim : dims) list += (list.empty() ? "" : ", ") + dim;
    add_line("param " + name + ": [" + list + "] = normal(0.7);");
    return name;
  }

  /// The newest value or one before it.
  Node pick() { return one_in(3) ? nodes_[below(nodes_.size())] : nodes_.back(); }

  /// A value as wide as `like`, by a product if there is no other.
  Node pick_like(const Node& like) {
    std::vector<Node> fitting;
    for (const Node& node : nodes_) {
      if (node.width == like.width && node.name != like.name) fitting.push_back(node);
    }
    if (!fitting.empty()) return fitting[below(fitting.size())];
    const Node from = pick();
    add(from.name + " * " + param({std::to_string(from.width), std::to_string(like.width)}), like.width);
    return nodes_.back();
  }

  void add(const std::string& expression, std::int64_t width) {
    const std::string name = "h" + std::to_string(nodes_.size());
    add_line(name + " = " + expression + ";");
    nodes_.push_back({name, width});
  }

  /// A sum over a hub's edges is large: kept in bounds, or the next one would be larger still.
  void add_sum(const std::string& sum, std::int64_t width) {
    add((one_in(2) ? "tanh(0.3 * " : "(0.1 * ") + sum + ")", width);
  }

  void add_statement() { one_in(2) ? add_row_statement() : add_edge_statement(); }

  void add_row_statement() {
    const Node x = pick();
    switch (below(8)) {
      case 0:
      case 1: {
        const auto width = static_cast<std::int64_t>(1 + below(8));
        return add(x.name + " * " + param({std::to_string(x.width), std::to_string(width)}), width);
      }
      case 2:
        return add(x.name + " + " + param({std::to_string(x.width)}), x.width);
      case 3:
        return add(one_of({"tanh", "sigmoid", "relu", "elu", "leaky_relu"}) + "(" + x.name + ")", x.width);
      case 4:
      case 5:
        return add_row_statement_of_two(x, pick_like(x));
      case 6:
        if (x.width > 6) return add("dropout(" + x.name + ", 0.3)", x.width);
        return add("concat(" + x.name + ", tanh(" + x.name + "))", 2 * x.width);
      default:
        return add(one_of({"batch_norm", "layer_norm", "layer_norm"}) + "(" + x.name + ") as \"norm" +
                       std::to_string(nodes_.size()) + "\"",
                   x.width);
    }
  }

  void add_row_statement_of_two(const Node& x, const Node& y) {
    switch (below(3)) {
      case 0:
        return add("tanh(" + x.name + one_of({" + ", " - ", " * "}) + y.name + ")", x.width);
      case 1:
        return add(one_of({"max", "min"}) + "(" + x.name + ", 0.5 * " + y.name + ")", x.width);
      default:
        return add(x.name + " / (1.5 + sigmoid(" + y.name + "))", x.width);
    }
  }

  void add_edge_statement() {
    const Node x = pick();
    const std::string reduce = one_of({"sum", "mean", "max", "min"});
    switch (below(9)) {
      case 0:
        return add_sum(reduce + "(" + x.name + "@src) over in_edges", x.width);
      case 1:
        return add_sum(reduce + "(edge_weight * " + x.name + "@src) over in_edges", x.width);
      case 2:
        add("rsqrt(0.5 + sum(edge_weight) over in_edges)", 1);
        return add_sum("sum(" + nodes_.back().name + "@src * edge_weight * " + nodes_.back().name + "@dst * " + x.name +
                           "@src) over in_edges",
                       x.width);
      case 3: {
        const std::string other = pick_like(x).name;
        return add_sum(
            reduce + "(tanh(" + x.name + "@src" + one_of({" + ", " - ", " * "}) + other + "@dst)) over in_edges",
            x.width);
      }
      case 4:
        return add_sum("sum(" + x.name + "@dst * edge_weight) over out_edges", x.width);
      case 5:
        return add(x.name + " * rsqrt(1 + " + one_of({"in_degree", "out_degree"}) + ")", x.width);
      case 6:
        return add_attention(x);
      case 7:
        return add(one_of({"gcn", "sage", "gin", "gatv2"}) + "(" + x.name + ", 4) as \"c" +
                       std::to_string(nodes_.size()) + "\"",
                   4);
      default:
        add_line("graph = " + one_of({"add_self_loops", "replace_self_loops"}) + "(graph);");
        return add_sum("mean(" + x.name + "@src) over in_edges", x.width);
    }
  }

  void add_attention(const Node& x) {
    const std::int64_t heads = x.width % 2 == 0 ? 2 : 1;
    const std::vector<std::string> dims = {std::to_string(heads), std::to_string(x.width / heads)};
    add("heads(" + x.name + ", " + dims[0] + ")", x.width);
    const std::string z = nodes_.back().name;
    nodes_.pop_back();  // its rows have two dimensions
    const std::string src = param(dims);
    const std::string dst = param(dims);
    add_line("e = leaky_relu(dot(" + z + ", " + src + ")@src + dot(" + z + ", " + dst + ")@dst, 0.2);");
    add_line("w = softmax(e) over in_edges;");
    add("heads(sum(w * " + z + "@src) over in_edges, 1)", x.width);
  }

  RandomStream random_;
  std::vector<Node> nodes_;
  std::string body_;
  int params_ = 0;
};

std::vector<std::uint64_t> seeds(std::uint64_t rounds) {
  if (const char* one = std::getenv("GNEISS_RANDOM_PROGRAM")) return {std::strtoull(one, nullptr, 10)};
  if (const char* more = std::getenv("GNEISS_FUZZ_ROUNDS")) rounds = std::strtoull(more, nullptr, 10);
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = 1; seed <= rounds; ++seed) all.push_back(seed);
  return all;
}

/// Some passes off, and choices as they seldom are.
passes::Options random_passes(std::uint64_t seed) {
  RandomStream random(seed, 0x9A55);
  passes::Options options;
  if (random.below(3) == 0) {
    for (const passes::PassInfo& pass : passes::list_passes()) {
      if (pass.optional && random.below(4) == 0) options.disabled.insert(pass.name);
    }
  }
  const passes::OrderChoice orders[] = {passes::OrderChoice::kAuto, passes::OrderChoice::kTransformFirst,
                                        passes::OrderChoice::kAggregateFirst};
  options.order = orders[random.below(3)];
  if (random.below(2) == 0) options.factor_degree = 0;
  if (random.below(2) == 0) options.loss_rows.most_share = 1e9;
  if (random.below(2) == 0) options.source_tiles = planner::SourceTiling::kOn;
  if (random.below(2) == 0) options.split_limits = {0, 0, 1e9};
  if (random.below(2) == 0) options.recompute_limits = {0, 0.01, 0.2, 0.2, 1e-3};
  if (random.below(2) == 0) options.repeats = {1e-6, 0};
  return options;
}

data::Dataset random_dataset(std::uint64_t seed) {
  RandomStream random(seed, 0xDA7A);
  if (random.below(4) == 0) return data::load("dcsbm:nodes=200,classes=3,features=6,degree=6,seed=3");  // symmetric
  testing::AwkwardOptions options;
  options.nodes = random.below(2) == 0 ? 14 : 150;
  options.weighted = random.below(2) == 0;
  options.self_loops = random.below(2) == 0;
  options.sparse_features = random.below(3) == 0;
  options.seed = seed;
  return testing::awkward_dataset(options);
}

TEST(RandomPrograms, HaveTheGradientsOfCentralDifferences) {
  testing::AwkwardOptions plain;
  plain.weighted = false;
  const data::Dataset datasets[] = {testing::awkward_dataset({}), testing::awkward_dataset(plain)};
  for (const std::uint64_t seed : seeds(60)) {
    const data::Dataset& dataset = datasets[seed % 2];
    const std::string text = ProgramWriter(seed, dataset.features.cols).write();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const ir::Program program = testing::compile_text(text, dataset);
    const testing::GradientReport report = testing::check_gradients(program, dataset, random_passes(seed));
    EXPECT_LT(report.relative_error, 1e-5) << report.worst;
  }
}

/// Gives both sessions the same parameters, exact in f32.
void share_parameters(train::Session<float>* session, train::Session<double>* reference) {
  for (const ir::Param& param : session->params()) {
    const std::vector<float> values = session->parameter(param.name);
    reference->set_parameter(param.name, std::vector<double>(values.begin(), values.end()));
  }
}

/// Largest difference relative to the largest expected size, or to `least`.
template <class A, class B>
double distance(const A& found, const B& expected, double least) {
  double size = least;
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    size = std::max(size, std::abs(static_cast<double>(expected[i])));
    const double apart = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
  }
  return worst / size;
}

TEST(RandomPrograms, AgreeWithTheReferenceKernels) {
  const testing::TempFolder folder;
  for (const std::uint64_t seed : seeds(100)) {
    const data::Dataset dataset = random_dataset(seed);
    const std::string text = ProgramWriter(seed, dataset.features.cols).write();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    train::SessionOptions options;
    options.model = folder.write("model.gneiss", text).string();
    options.seed = seed;
    options.threads = static_cast<int>(1 + seed % 3);
    train::SessionOptions written = options;
    for (const passes::PassInfo& pass : passes::list_passes()) {
      if (pass.optional) written.passes.disabled.insert(pass.name);
    }
    options.passes = random_passes(seed);
    train::Session<float> session(dataset, options);
    train::Session<double> reference(dataset, written);
    share_parameters(&session, &reference);
    for (const std::uint64_t epoch : {1, 2}) {
      const double expected = reference.forward_backward(epoch);
      EXPECT_NEAR(session.forward_backward(epoch), expected, 1e-4 * (1 + std::abs(expected)));
      for (const ir::Param& param : session.params()) {
        if (!param.trainable) continue;
        EXPECT_LT(distance(session.gradient(param.name), reference.gradient(param.name), 1e-2), 1e-3) << param.name;
      }
    }
    session.evaluate();
    reference.evaluate();
    const auto logits = session.logits();
    const auto expected = reference.logits();
    EXPECT_LT(distance(std::span(logits.data, static_cast<std::size_t>(logits.size())),
                       std::span(expected.data, static_cast<std::size_t>(expected.size())), 1),
              1e-3);
  }
}

}  // namespace
}  // namespace gneiss
