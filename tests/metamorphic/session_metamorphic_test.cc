// What must not change a result: the names of the nodes, the order of the edges in the file, the number of threads,
// tiles, bands and what is made again; memory that is filled with NaN before it is used. Which passes run is the
// matter of pass_switches_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/load.h"
#include "data/preprocess.h"
#include "graph/reorder.h"
#include "passes/recompute.h"
#include "support/awkward_graph.h"
#include "train/session.h"

namespace gneiss {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Args = std::vector<std::pair<std::string, language::ArgValue>>;

const std::vector<std::pair<std::string, Args>>& models() {
  static const std::vector<std::pair<std::string, Args>> list = {
      {"gcn", {{"dropout", 0.5}}},
      // No bias before a batch norm: its gradient is zero but for rounding, and Adam would make steps of the rounding.
      {"gcn", {{"dropout", 0.5}, {"norm", std::string("batch")}, {"bias", false}}},
      {"sage", {{"aggr", std::string("max")}, {"dropout", 0.0}}},
      {"sage", {{"aggr", std::string("mean")}, {"norm", std::string("layer")}}},
      {"gin", {{"train_eps", true}}},
      {"gat", {{"heads", std::int64_t{4}}, {"hidden_channels", std::int64_t{16}}}},
  };
  return list;
}

train::SessionOptions options_for(const std::pair<std::string, Args>& model, int threads = 1) {
  train::SessionOptions options;
  options.model = model.first;
  options.model_args = model.second;
  options.threads = threads;
  options.seed = 5;
  options.optimizer.weight_decay = 5e-4;
  return options;
}

/// Losses of some training steps and the logits after them.
template <class T>
struct Trace {
  std::vector<double> losses;
  std::vector<T> logits;
  std::vector<T> weights;
};

template <class T>
Trace<T> trace(const data::Dataset& dataset, const train::SessionOptions& options, int steps) {
  train::Session<T> session(dataset, options);
  Trace<T> result;
  for (int epoch = 1; epoch <= steps; ++epoch) {
    result.losses.push_back(session.forward_backward(static_cast<std::uint64_t>(epoch)));
    session.update(0.01);
  }
  session.evaluate();
  const auto logits = session.logits();
  result.logits.assign(logits.data, logits.data + logits.size());
  result.weights.resize(session.snapshot_size());
  session.save_snapshot(result.weights);
  return result;
}

template <class T>
void expect_close(const Trace<T>& a, const Trace<T>& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i)
    EXPECT_NEAR(a.losses[i], b.losses[i], tolerance) << what << " step " << i;
  ASSERT_EQ(a.logits.size(), b.logits.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.logits.size(); ++i) {
    const double apart = std::abs(static_cast<double>(a.logits[i] - b.logits[i]));
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);  // a maximum alone would pass NaN over
  }
  EXPECT_LT(worst, tolerance * 10) << what;
}

data::Dataset community_graph() { return data::load("dcsbm:nodes=400,classes=4,features=40,degree=8,seed=3"); }

TEST(Metamorphic, ThreadsDoNotChangeABit) {
  const data::Dataset dataset = community_graph();
  for (const auto& model : models()) {
    const Trace<float> one = trace<float>(dataset, options_for(model, 1), 20);
    for (const int threads : {2, 5}) {
      const Trace<float> many = trace<float>(dataset, options_for(model, threads), 20);
      EXPECT_EQ(one.losses, many.losses) << model.first << " with " << threads << " threads";
      EXPECT_EQ(one.weights, many.weights) << model.first << " with " << threads << " threads";
      EXPECT_EQ(one.logits, many.logits) << model.first << " with " << threads << " threads";
    }
  }
}

TEST(Metamorphic, RowsThatLieApartChangeNoBit) {
  const data::Dataset dataset = data::load("dcsbm:nodes=400,classes=7,features=40,degree=8,seed=3");
  for (const auto& model : models()) {
    train::SessionOptions options = options_for(model);
    options.passes.order = passes::OrderChoice::kTransformFirst;  // 7 columns are gathered
    const Trace<float> apart = trace<float>(dataset, options, 5);
    options.passes.disabled = {"pad_rows"};
    const Trace<float> together = trace<float>(dataset, options, 5);
    EXPECT_EQ(apart.losses, together.losses) << model.first;
    EXPECT_EQ(apart.weights, together.weights) << model.first;
    EXPECT_EQ(apart.logits, together.logits) << model.first;
  }
}

TEST(Metamorphic, TheSparsePathChangesRoundingOnly) {
  testing::AwkwardOptions sparse;
  sparse.sparse_features = true;
  const data::Dataset dataset = testing::awkward_dataset(sparse);
  std::vector<std::pair<std::string, Args>> all = models();
  all.push_back({"gcn", {{"input_dropout", 0.5}}});
  for (const auto& model : all) {
    train::SessionOptions options = options_for(model);
    options.passes.sparse_path = passes::SparsePath::kSparse;
    const Trace<double> stored = trace<double>(dataset, options, 5);
    for (const bool hoist : {true, false}) {
      options.passes.sparse_path = passes::SparsePath::kDense;
      if (!hoist) options.passes.disabled = {"hoist_constants"};
      expect_close(stored, trace<double>(dataset, options, 5), 1e-9, model.first + " on a dense copy");
    }
  }
}

TEST(Metamorphic, TilesOfSourcesChangeRoundingOnly) {
  const data::Dataset awkward = testing::awkward_dataset({});
  const data::Dataset communities = community_graph();
  for (const auto& model : models()) {
    for (const data::Dataset* dataset : {&awkward, &communities}) {
      train::SessionOptions options = options_for(model);
      const Trace<float> whole = trace<float>(*dataset, options, 5);
      options.passes.source_tiles = planner::SourceTiling::kOn;
      const Trace<float> cut = trace<float>(*dataset, options, 5);
      expect_close(whole, cut, 1e-4, model.first + " in tiles of sources");
      for (const int threads : {2, 5}) {
        options.threads = threads;
        EXPECT_EQ(cut.weights, trace<float>(*dataset, options, 5).weights)
            << model.first << ", " << threads << " threads";
      }
    }
  }
}

TEST(Metamorphic, PanelsOfColumnsChangeNoBit) {
  const data::Dataset awkward = testing::awkward_dataset({});
  const data::Dataset communities = community_graph();
  for (const std::string model : {"gcn", "sage", "gin"}) {
    for (const data::Dataset* dataset : {&awkward, &communities}) {
      train::SessionOptions options =
          options_for({model, {{"hidden_channels", std::int64_t{72}}, {"num_layers", std::int64_t{3}}}});
      options.passes.disabled = {"fuse_rows"};  // a product by bands adds its gradient up in other parts
      // Rows of 32 columns come a hundred times as fast as wider ones, and tiles do not pay.
      options.passes.rates.gather = {{32, 64}, {1}, {1e12, 1e10}};
      options.passes.rates.tile_gather = {{32}, {1}, {1e6}};
      options.passes.rates.stream = {{1}, {1}, {1e14}};
      const ir::Plan plan = train::make_blueprint(*dataset, options).plan;
      const auto panels = std::count_if(plan.steps.begin(), plan.steps.end(), [](const ir::Step& step) {
        return step.variant == "cpu_panels" && step.band < 0;
      });
      EXPECT_GE(panels, 2) << model;
      const Trace<float> by_panels = trace<float>(*dataset, options, 5);
      options.threads = 3;
      EXPECT_EQ(by_panels.weights, trace<float>(*dataset, options, 5).weights) << model;
      options.passes.source_tiles = planner::SourceTiling::kOff;
      const Trace<float> whole = trace<float>(*dataset, options, 5);
      EXPECT_EQ(by_panels.losses, whole.losses) << model;
      EXPECT_EQ(by_panels.weights, whole.weights) << model;
      EXPECT_EQ(by_panels.logits, whole.logits) << model;
    }
  }
}

TEST(Metamorphic, BandsOfRowsChangeRoundingOnly) {
  // Several bands and tasks, and the f32 kernels that run in them.
  const data::Dataset dataset = data::load("dcsbm:nodes=3000,classes=4,features=40,degree=8,seed=3");
  for (const auto& model : models()) {
    train::SessionOptions options = options_for(model);
    const Trace<float> bands = trace<float>(dataset, options, 5);
    for (const int threads : {2, 5}) {
      options.threads = threads;
      EXPECT_EQ(bands.weights, trace<float>(dataset, options, 5).weights)
          << model.first << ", " << threads << " threads";
    }
    options.passes.disabled = {"fuse_rows"};
    expect_close(bands, trace<float>(dataset, options, 5), 1e-5, model.first + " an op at a time");
  }
}

TEST(Metamorphic, LossesInBandsChangeRoundingOnly) {
  for (const data::LabelKind kind : {data::LabelKind::kSingle, data::LabelKind::kMulti, data::LabelKind::kRegression}) {
    testing::AwkwardOptions awkward;
    awkward.nodes = 3000;
    awkward.labels = kind;
    const data::Dataset dataset = testing::awkward_dataset(awkward);
    train::SessionOptions options = options_for({"sage", {}});
    options.loss.kind = train::default_loss(dataset.labels);
    const ir::Plan plan = train::make_blueprint(dataset, options).plan;
    const auto in_band = [&](const ir::Step& step) {
      return step.band >= 0 && ir::is_training_loss(plan.program.ops[static_cast<std::size_t>(step.op)]);
    };
    EXPECT_TRUE(std::any_of(plan.steps.begin(), plan.steps.end(), in_band));
    const Trace<float> bands = trace<float>(dataset, options, 5);
    options.threads = 3;
    EXPECT_EQ(bands.weights, trace<float>(dataset, options, 5).weights);
    options.passes.disabled = {"fuse_rows"};
    expect_close(bands, trace<float>(dataset, options, 5), 1e-5, "a loss by itself");
  }
}

/// The mean loss of `logits` over the labelled ones of `rows`, by the textbook.
double mean_loss(const data::Labels& labels, const MatrixView<const float>& logits, const std::vector<NodeId>& rows) {
  double sum = 0;
  double count = 0;
  for (const NodeId v : rows) {
    double of_row = 0;  // the sum of the exponentials
    for (std::int64_t c = 0; c < logits.cols; ++c) {
      const double z = logits.at(v, c);
      of_row += std::exp(z);
      if (labels.kind == data::LabelKind::kSingle) continue;
      const double y = labels.targets[static_cast<std::size_t>(v * logits.cols + c)];
      if (std::isnan(y)) continue;
      sum += labels.kind == data::LabelKind::kMulti ? std::log1p(std::exp(z)) - y * z : (z - y) * (z - y);
      count += 1;
    }
    if (labels.kind != data::LabelKind::kSingle) continue;
    const std::int32_t label = labels.classes[static_cast<std::size_t>(v)];
    if (label < 0) continue;
    sum += std::log(of_row) - static_cast<double>(logits.at(v, label));
    count += 1;
  }
  return sum / count;
}

TEST(Metamorphic, TheValidationLossIsThatOfTheLogits) {
  for (const data::LabelKind kind : {data::LabelKind::kSingle, data::LabelKind::kMulti, data::LabelKind::kRegression}) {
    testing::AwkwardOptions awkward;
    awkward.nodes = 3000;
    awkward.labels = kind;
    data::Dataset dataset = testing::awkward_dataset(awkward);
    for (const bool banded : {true, false}) {
      train::SessionOptions options = options_for({"gcn", {}});
      options.loss.kind = train::default_loss(dataset.labels);
      if (!banded) options.passes.disabled = {"fuse_rows"};
      train::Session<float> session(dataset, options);
      session.forward_backward(1);
      session.update(0.1);
      session.evaluate();
      const double expected = mean_loss(dataset.labels, session.logits(), dataset.split.val);
      EXPECT_NEAR(session.validation_loss(), expected, 1e-5 * expected) << banded;
    }
    dataset.split.val.clear();
    train::SessionOptions options = options_for({"gcn", {}});
    options.loss.kind = train::default_loss(dataset.labels);
    train::Session<float> without(dataset, options);
    without.evaluate();
    EXPECT_TRUE(std::isnan(without.validation_loss()));
  }
}

TEST(Metamorphic, CutBandsChangeRoundingOnly) {
  const data::Dataset dataset = data::load("dcsbm:nodes=3000,classes=4,features=40,degree=8,seed=3");
  for (const auto& model : models()) {
    train::SessionOptions options = options_for(model);
    const Trace<float> whole = trace<float>(dataset, options, 5);
    options.passes.split_limits = {0, 0, 1e9};
    expect_close(whole, trace<float>(dataset, options, 5), 1e-5, model.first + " in cut bands");
  }
}

TEST(Metamorphic, LogitsOfTheLossAloneChangeRoundingOnly) {
  std::vector<std::pair<std::string, Args>> list = models();
  list.push_back({"gcn", {{"norm", std::string("batch")}, {"jk", std::string("cat")}}});
  list.push_back({"sage", {{"aggr", std::string("max")}, {"num_layers", std::int64_t{3}}}});
  list.push_back(
      {"gat", {{"heads", std::int64_t{2}}, {"hidden_channels", std::int64_t{8}}, {"attention_dropout", 0.0}}});
  list.push_back(
      {"gat",
       {{"heads", std::int64_t{2}}, {"hidden_channels", std::int64_t{8}}, {"attention_dropout", 0.0}, {"v2", true}}});
  testing::AwkwardOptions many_labels;
  many_labels.labels = data::LabelKind::kMulti;
  int restricted = 0;
  for (const data::Dataset& dataset :
       {testing::awkward_dataset({}), testing::awkward_dataset(many_labels), community_graph()}) {
    for (const auto& model : list) {
      train::SessionOptions options = options_for(model);
      options.loss.kind = train::default_loss(dataset.labels);
      options.passes.disabled = {"loss_rows"};
      const Trace<double> whole = trace<double>(dataset, options, 5);
      const Trace<float> whole_float = trace<float>(dataset, options, 5);
      options.passes.disabled.clear();
      options.passes.loss_rows.most_share = 1e9;
      restricted += train::make_blueprint(dataset, options).plan.program.node_sets.size() > 1;
      expect_close(whole, trace<double>(dataset, options, 5), 1e-9, model.first + " in f64");
      const Trace<float> one = trace<float>(dataset, options, 5);
      expect_close(whole_float, one, 2e-4, model.first + " in f32");
      options.threads = 3;
      EXPECT_EQ(trace<float>(dataset, options, 5).weights, one.weights) << model.first;
    }
  }
  EXPECT_GT(restricted, 3 * static_cast<int>(list.size()) / 2)
      << "most models end in what can be done for some rows alone";
}

TEST(Metamorphic, EdgesOfTheLossAloneChangeNoBit) {
  testing::AwkwardOptions unweighted;
  unweighted.weighted = false;
  int parts = 0;
  for (const data::Dataset& dataset : {testing::awkward_dataset(unweighted), community_graph()}) {
    for (const auto& model : models()) {
      train::SessionOptions options = options_for(model);
      options.passes.source_tiles = planner::SourceTiling::kOn;
      options.passes.factor_degree = 0;
      options.passes.loss_rows.most_share = 0;
      options.passes.loss_rows.free_bytes = 0;
      options.passes.disabled = {"loss_rows"};
      const Trace<float> whole = trace<float>(dataset, options, 5);
      options.passes.disabled.clear();
      parts += static_cast<int>(train::make_blueprint(dataset, options).plan.loss_tiles.size());
      for (const int threads : {1, 3}) {
        options.threads = threads;
        const Trace<float> part = trace<float>(dataset, options, 5);
        EXPECT_EQ(part.losses, whole.losses) << model.first;
        EXPECT_EQ(part.weights, whole.weights) << model.first;
        EXPECT_EQ(part.logits, whole.logits) << model.first;
      }
    }
  }
  EXPECT_GE(parts, 6) << "sums of some models, forth and back";
}

TEST(Metamorphic, WhatIsMadeAgainInBackwardIsTheSameToTheBit) {
  const data::Dataset dataset = community_graph();
  for (const auto& given : models()) {
    for (const double dropout : {0.0, 0.5}) {
      auto model = given;
      std::erase_if(model.second, [](const auto& arg) { return arg.first == "dropout"; });
      model.second.emplace_back("dropout", dropout);
      train::SessionOptions options = options_for(model);
      // The choices that a limit may change besides would change rounding.
      options.passes.order = passes::OrderChoice::kTransformFirst;
      options.passes.source_tiles = planner::SourceTiling::kOff;
      // So would bands of other sizes: sums over rows are sums over the bands' tasks.
      options.passes.disabled = {"fuse_rows"};
      const Trace<float> kept = trace<float>(dataset, options, 5);
      options.passes.excess_bytes = [](const ir::Plan& plan) {
        return std::ssize(passes::recomputable(plan.program));
      };  // all of it
      const ir::Plan plan = train::make_blueprint(dataset, options).plan;
      const bool again = std::any_of(plan.program.ops.begin(), plan.program.ops.end(), [&](const ir::Op& op) {
        return op.phase == ir::Phase::kBackward && !op.results.empty() && op.results[0] != ir::kNoValue &&
               plan.program.value_name(op.results[0]).find("again") != std::string::npos;
      });
      EXPECT_TRUE(again) << model.first;
      const Trace<float> made_again = trace<float>(dataset, options, 5);
      EXPECT_EQ(kept.losses, made_again.losses) << model.first << " dropout " << dropout;
      EXPECT_EQ(kept.weights, made_again.weights) << model.first << " dropout " << dropout;
      EXPECT_EQ(kept.logits, made_again.logits) << model.first << " dropout " << dropout;
    }
  }
}

TEST(Metamorphic, WhatIsMadeAgainForEachBandIsTheSame) {
  const data::Dataset dataset = community_graph();
  train::SessionOptions options = options_for({"gat",
                                               {{"heads", std::int64_t{4}},
                                                {"hidden_channels", std::int64_t{32}},
                                                {"num_layers", std::int64_t{3}},
                                                {"dropout", 0.0},
                                                {"input_dropout", 0.0},
                                                {"attention_dropout", 0.0}}});
  const Trace<float> kept = trace<float>(dataset, options, 5);
  options.passes.order = passes::OrderChoice::kTransformFirst;
  options.passes.source_tiles = planner::SourceTiling::kOff;
  // Products, scores and activations are to be made again, and no activation may outlast a band then.
  options.passes.excess_bytes = [](const ir::Plan& plan) {
    std::int64_t excess = 0;
    for (const ir::ValueId v : passes::recomputable(plan.program)) {
      const std::string& name = plan.program.value_name(v);
      if (name.starts_with("gemm") || name.starts_with("elu") || name.starts_with("sum_groups")) excess += 2;
    }
    for (std::size_t v = 0; v < plan.program.values.size(); ++v) {
      const std::string& name = plan.program.values[v].name;
      const bool made_again = name.starts_with("elu") && name.find("again") != std::string::npos;
      if (made_again && plan.placements[v].storage == ir::Storage::kArena) ++excess;
    }
    return excess;
  };
  const ir::Plan plan = train::make_blueprint(dataset, options).plan;
  const auto recompute =
      std::find_if(plan.passes.begin(), plan.passes.end(), [](const auto& pass) { return pass.name == "recompute"; });
  EXPECT_THAT(recompute->decisions, Contains(HasSubstr("for each band")));
  // Bands may have other sizes, and sums over rows are sums over their tasks.
  expect_close(kept, trace<float>(dataset, options, 5), 1e-5, "gat");
}

TEST(Metamorphic, ADatasetThatIsMovedInChangesNoBit) {
  const auto load = [] { return data::load("dcsbm:nodes=3000,classes=4,features=40,degree=8,seed=3"); };
  const data::Dataset kept = load();
  int freed = 0;
  for (const auto& model : models()) {
    for (const auto tiles : {planner::SourceTiling::kOff, planner::SourceTiling::kOn}) {
      train::SessionOptions options = options_for(model, 2);
      options.passes.source_tiles = tiles;
      train::Session<float> session(load(), options);
      for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
        session.forward_backward(epoch);
        session.update(0.01);
      }
      std::vector<float> weights(session.snapshot_size());
      session.save_snapshot(weights);
      EXPECT_EQ(weights, trace<float>(kept, options, 5).weights) << model.first;
      const ir::Plan& plan = session.plan();
      const data::Dataset& left = session.dataset();
      const bool edges_go = plan.release_of(ir::Released::kGivenEdges) != nullptr;
      EXPECT_EQ(left.graph.sources().empty(), edges_go) << model.first;
      EXPECT_EQ(left.features.dense.empty(), plan.release_of(ir::Released::kFeatures) != nullptr) << model.first;
      EXPECT_EQ(left.graph.num_edges(), kept.graph.num_edges()) << "the counts stay";
      freed += edges_go ? 1 : 0;
    }
  }
  EXPECT_GT(freed, 0);
  EXPECT_EQ(std::ssize(kept.graph.sources()), kept.graph.num_edges()) << "a session changes no data set but its own";
}

TEST(Metamorphic, FactoredWeightsChangeRoundingOnly) {
  testing::AwkwardOptions unweighted;
  unweighted.weighted = false;
  const data::Dataset dataset = testing::awkward_dataset(unweighted);
  for (const auto& model : models()) {
    train::SessionOptions options = options_for(model);
    const Trace<double> whole = trace<double>(dataset, options, 5);
    options.passes.factor_degree = 0;
    expect_close(whole, trace<double>(dataset, options, 5), 1e-9, model.first + " with weights taken apart");
  }
}

TEST(Metamorphic, SelfLoopsThatAreNoEdgesChangeRoundingOnly) {
  testing::AwkwardOptions awkward;
  awkward.weighted = false;
  awkward.self_loops = false;
  int left_out = 0;
  for (const data::Dataset& dataset : {testing::awkward_dataset(awkward), community_graph()}) {
    ASSERT_EQ(graph::num_self_loops(dataset.graph), 0);
    for (const auto& model : models()) {
      for (const double share : {0.0, 1e9}) {  // all rows, those of the loss alone
        train::SessionOptions options = options_for(model);
        options.passes.repeats = {1e-6, 0};
        options.passes.factor_degree = 0;
        options.passes.loss_rows.most_share = share;
        options.passes.loss_rows.free_bytes = 0;
        const Trace<double> short_one = trace<double>(dataset, options, 5);
        const Trace<float> one = trace<float>(dataset, options, 5);
        const train::Blueprint made = train::make_blueprint(dataset, options);
        left_out += made.graphs.size() > 1 && !made.graphs[1];
        EXPECT_EQ(made.graphs.size() > 1 && !made.graphs[1], model.first == "gcn") << model.first;
        options.threads = 3;
        EXPECT_EQ(one.weights, trace<float>(dataset, options, 5).weights) << model.first << " with 3 threads";
        options.passes.disabled = {"self_loops"};
        expect_close(short_one, trace<double>(dataset, options, 5), 1e-9, model.first + " in f64");
        expect_close(one, trace<float>(dataset, options, 5), 2e-4, model.first + " in f32");
      }
    }
  }
  EXPECT_EQ(left_out, 8);
}

/// The dataset with node v renamed to rename[v] and its edges listed in another order: destinations from last to first.
/// Parallel edges keep theirs, because of several self loops on a node the last one's weight counts (PyG's rule).
data::Dataset renamed(const data::Dataset& from, const std::vector<NodeId>& rename) {
  const auto n = static_cast<std::size_t>(from.num_nodes());
  const auto m = static_cast<std::size_t>(from.graph.num_edges());
  graph::EdgeList edges{Buffer<NodeId>(m), Buffer<NodeId>(m), Buffer<float>(from.graph.weighted() ? m : 0)};
  std::size_t at = 0;
  for (std::size_t v = n; v-- > 0;) {
    for (EdgeId k = from.graph.offsets()[v]; k < from.graph.offsets()[v + 1]; ++k, ++at) {
      edges.src[at] = rename[static_cast<std::size_t>(from.graph.sources()[static_cast<std::size_t>(k)])];
      edges.dst[at] = rename[v];
      if (from.graph.weighted()) edges.weight[at] = from.graph.weights()[static_cast<std::size_t>(k)];
    }
  }
  data::Dataset to;
  to.name = from.name;
  to.graph = graph::build_graph(edges, from.num_nodes());
  to.features.rows = from.features.rows;
  to.features.cols = from.features.cols;
  to.features.dense = Buffer<float>(from.features.dense.size());
  to.labels.kind = from.labels.kind;
  to.labels.num_classes = from.labels.num_classes;
  to.labels.classes = Buffer<std::int32_t>(n);
  to.orig_id.resize(n);
  const auto d = static_cast<std::size_t>(from.features.cols);
  for (std::size_t v = 0; v < n; ++v) {
    const auto now = static_cast<std::size_t>(rename[v]);
    std::copy_n(from.features.dense.data() + v * d, d, to.features.dense.data() + now * d);
    to.labels.classes[now] = from.labels.classes[v];
    to.orig_id[now] = static_cast<std::int64_t>(v);
  }
  for (const NodeId v : from.split.train) to.split.train.push_back(rename[static_cast<std::size_t>(v)]);
  std::sort(to.split.train.begin(), to.split.train.end());
  to.split.val = {};
  to.split.test = {};
  return to;
}

TEST(Metamorphic, NamesOfNodesDoNotMatter) {
  const data::Dataset dataset = testing::awkward_dataset({});
  std::vector<NodeId> rename(static_cast<std::size_t>(dataset.num_nodes()));
  std::iota(rename.begin(), rename.end(), 0);
  RandomStream random(9, 1);
  for (std::size_t i = rename.size() - 1; i > 0; --i) std::swap(rename[i], rename[random.below(i + 1)]);
  const data::Dataset other = renamed(dataset, rename);
  for (auto model : models()) {
    // Dropout is keyed by the original ids, so it draws the same for the same node under any name.
    model.second.emplace_back("input_dropout", 0.3);
    const Trace<double> a = trace<double>(dataset, options_for(model), 5);
    Trace<double> b = trace<double>(other, options_for(model), 5);
    const auto classes = static_cast<std::size_t>(dataset.labels.num_classes);
    std::vector<double> back(b.logits.size());
    for (std::size_t v = 0; v < rename.size(); ++v) {
      std::copy_n(b.logits.data() + static_cast<std::size_t>(rename[v]) * classes, classes, back.data() + v * classes);
    }
    b.logits = back;
    expect_close(a, b, 1e-9, model.first);
  }
}

TEST(Metamorphic, OrdersOfNodesChangeRoundingOnly) {
  for (const bool directed : {false, true}) {
    const auto load = [&] { return directed ? testing::awkward_dataset({.nodes = 60}) : community_graph(); };
    const data::Dataset given = load();
    for (const graph::Order& order :
         {graph::degree_order(given.graph), graph::rcm_order(given.graph), graph::cluster_order(given.graph, 1)}) {
      data::Dataset moved = load();
      data::permute(order, 1, &moved);
      for (auto model : models()) {
        model.second.emplace_back("input_dropout", 0.3);
        const Trace<double> a = trace<double>(given, options_for(model), 5);
        Trace<double> b = trace<double>(moved, options_for(model), 5);
        const auto classes = static_cast<std::size_t>(given.labels.num_classes);
        std::vector<double> back(b.logits.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
          std::copy_n(b.logits.data() + i * classes, classes,
                      back.data() + static_cast<std::size_t>(order[i]) * classes);
        }
        b.logits = back;
        expect_close(a, b, 1e-9, model.first);
      }
    }
  }
}

TEST(Metamorphic, FloatFollowsDouble) {
  const data::Dataset dataset = testing::awkward_dataset({});
  for (const auto& model : models()) {
    const Trace<float> f32 = trace<float>(dataset, options_for(model), 5);
    const Trace<double> f64 = trace<double>(dataset, options_for(model), 5);
    for (std::size_t i = 0; i < f32.losses.size(); ++i) EXPECT_NEAR(f32.losses[i], f64.losses[i], 2e-4) << model.first;
  }
}

TEST(Metamorphic, SeedsMatterAndRepeat) {
  const data::Dataset dataset = testing::awkward_dataset({});
  train::SessionOptions options = options_for(models()[0]);
  const Trace<float> first = trace<float>(dataset, options, 3);
  EXPECT_EQ(first.weights, trace<float>(dataset, options, 3).weights);
  options.seed = 6;
  EXPECT_NE(first.weights, trace<float>(dataset, options, 3).weights);
}

}  // namespace
}  // namespace gneiss
