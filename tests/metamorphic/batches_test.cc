// Mini-batches beside the full graph: with whole neighbourhoods and one batch an epoch they are the same training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/load.h"
#include "data/preprocess.h"
#include "graph/graph.h"
#include "graph/reorder.h"
#include "minibatch/seeds.h"
#include "minibatch/workspace.h"
#include "support/awkward_graph.h"
#include "train/batches.h"
#include "train/session.h"

namespace gneiss {
namespace {

using ::testing::HasSubstr;
using Args = std::vector<std::pair<std::string, language::ArgValue>>;

struct Model {
  std::string name;
  Args args;
};

const std::vector<Model>& models() {
  static const std::string gated = std::string(GNEISS_SOURCE_DIR) + "/examples/gated_mean.gneiss";
  static const std::vector<Model> list = {
      {"gcn", {}},
      {"gcn", {{"num_layers", std::int64_t{3}}, {"residual", true}, {"jk", std::string("cat")}}},
      {"sage", {}},
      {"sage", {{"aggr", std::string("max")}, {"num_layers", std::int64_t{3}}}},
      {"sage", {{"aggr", std::string("sum")}, {"norm", std::string("layer")}}},
      {"gin", {{"train_eps", true}}},
      {"gin", {}},
      {"gat", {{"heads", std::int64_t{4}}, {"hidden_channels", std::int64_t{16}}}},
      {"gat", {{"v2", true}, {"residual", true}, {"jk", std::string("max")}, {"dropout", 0.3}}},
      {gated, {}},
  };
  return list;
}

train::SessionOptions options_for(const Model& model, int threads = 1) {
  train::SessionOptions options;
  options.model = model.name;
  options.model_args = model.args;
  options.threads = threads;
  options.seed = 5;
  options.optimizer.weight_decay = 5e-4;
  options.passes.disabled = {"loss_rows"};
  return options;
}

std::vector<std::int64_t> all_neighbours(const Model& model) {
  for (const auto& [name, value] : model.args) {
    if (name == "num_layers")
      return std::vector<std::int64_t>(static_cast<std::size_t>(std::get<std::int64_t>(value)), -1);
  }
  return {-1, -1};
}

train::BatchOptions batches_for(std::vector<std::int64_t> fanout, std::int64_t size) {
  train::BatchOptions options;
  options.sampler.fanout = std::move(fanout);
  options.batch_size = size;
  return options;
}

std::vector<float> weights_of(const train::Session<float>& session) {
  std::vector<float> snapshot(session.snapshot_size());
  session.save_snapshot(snapshot);
  return snapshot;
}

TEST(Batches, WholeNeighbourhoodsAndOneBatchAreTheFullGraph) {
  constexpr int kEpochs = 4;
  for (const bool weighted : {true, false}) {
    for (const bool sparse : {true, false}) {
      const data::Dataset dataset =
          testing::awkward_dataset({.nodes = 40, .weighted = weighted, .sparse_features = sparse});
      for (const Model& model : models()) {
        train::Session<float> full(dataset, options_for(model));
        train::Session<float> session(dataset, options_for(model));
        train::BatchTraining batches(&session, dataset, options_for(model), batches_for(all_neighbours(model), 1000));
        batches.restart(5);
        for (int epoch = 1; epoch <= kEpochs; ++epoch) {
          const double expected = full.forward_backward(static_cast<std::uint64_t>(epoch));
          full.update(0.01);
          const double loss = batches.epoch(epoch, 0.01);
          ASSERT_NEAR(loss, expected, 1e-5 * std::max(1.0, expected)) << model.name << ", epoch " << epoch;
        }
        const std::vector<float> expected = weights_of(full);
        const std::vector<float> got = weights_of(session);
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 2e-4) << model.name << " " << i;
      }
    }
  }
}

/// Of all nodes, by batches with whole neighbourhoods, the running statistics of batch norm are the full graph's too.
TEST(Batches, BatchNormOfAllNodesIsThatOfTheFullGraph) {
  data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
  dataset.split.train.resize(40);
  std::iota(dataset.split.train.begin(), dataset.split.train.end(), NodeId{0});
  for (std::int32_t& label : dataset.labels.classes) label = std::max(label, 0);
  for (const char* name : {"gcn", "sage", "gin", "gat"}) {
    const Model model{name, {{"norm", std::string("batch")}, {"dropout", 0.4}}};
    train::SessionOptions options = options_for(model);
    // Biases before a normalisation have gradients of rounding alone, which Adam would blow up.
    options.optimizer = {.kind = runtime::OptimizerKind::kSgd, .weight_decay = 0};
    train::Session<float> full(dataset, options);
    train::Session<float> session(dataset, options);
    train::BatchTraining batches(&session, dataset, options, batches_for({-1, -1}, 100));
    batches.restart(5);
    for (int epoch = 1; epoch <= 2; ++epoch) {
      const double expected = full.forward_backward(static_cast<std::uint64_t>(epoch));
      full.update(0.01);
      ASSERT_NEAR(batches.epoch(epoch, 0.01), expected, 1e-5 * std::max(1.0, expected)) << name;
    }
    const std::vector<float> expected = weights_of(full);
    const std::vector<float> got = weights_of(session);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 2e-4) << name << " " << i;
  }
}

TEST(Batches, GradientsOfSomeSeedsAreThoseOfTheFullGraphOnThem) {
  data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
  dataset.split.train = {0, 3, 7, 8, 20, 38};
  for (const Model& model : models()) {
    train::SessionOptions options = options_for(model);
    options.optimizer = {.kind = runtime::OptimizerKind::kSgd, .weight_decay = 0};
    train::Session<float> full(dataset, options);
    train::Session<float> session(dataset, options);
    train::BatchTraining batches(&session, dataset, options, batches_for(all_neighbours(model), 100));
    batches.restart(5);
    const double expected = full.forward_backward(1);
    EXPECT_NEAR(batches.epoch(1, 0.0), expected, 1e-5 * std::max(1.0, expected)) << model.name;
    float largest = 1e-3F;
    for (const float g : full.parameters().gradients()) largest = std::max(largest, std::abs(g));
    const std::span<float> got = session.parameters().gradients();
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], full.parameters().gradients()[i], 1e-5F * largest) << model.name << " " << i;
  }
}

std::vector<float> train_sampled(const data::Dataset& dataset, const Model& model, int threads, int workers,
                                 std::vector<std::int64_t> fanout = {3, 2}, std::int64_t size = 32) {
  train::Session<float> session(dataset, options_for(model, threads));
  train::BatchOptions options = batches_for(std::move(fanout), size);
  options.workers = workers;
  train::BatchTraining batches(&session, dataset, options_for(model, threads), options);
  batches.restart(5);
  for (int epoch = 1; epoch <= 2; ++epoch) EXPECT_TRUE(std::isfinite(batches.epoch(epoch, 0.01)));
  return weights_of(session);
}

TEST(Batches, WeightsAreTheSameBitsForAnyNumberOfThreadsAndWorkers) {
  const data::Dataset dataset = data::load("dcsbm:nodes=600,classes=3", {});
  for (const char* name : {"gcn", "sage", "gin", "gat"}) {
    const Model model{name, {}};
    const std::vector<float> expected = train_sampled(dataset, model, 1, 1);
    EXPECT_EQ(train_sampled(dataset, model, 2, 1), expected) << name;
    EXPECT_EQ(train_sampled(dataset, model, 3, 2), expected) << name;
  }
}

/// Seeds, draws and dropout go by original ids, so new names for the nodes change nothing.
TEST(Batches, ARenamedGraphTrainsToTheSameBits) {
  const std::string graph = "dcsbm:nodes=600,classes=3";
  const data::Dataset dataset = data::load(graph, {});
  data::Dataset renamed = data::load(graph, {});
  graph::Order order(600);
  for (std::size_t v = 0; v < order.size(); ++v) order[v] = static_cast<NodeId>(v * 7 % 600);
  data::permute(order, 2, &renamed);
  for (const char* name : {"gcn", "sage", "gin", "gat"}) {
    const Model model{name, {{"dropout", 0.4}}};
    const std::vector<float> expected = train_sampled(dataset, model, 1, 1);
    EXPECT_EQ(train_sampled(renamed, model, 2, 2), expected) << name;
    data::Dataset without_ids = data::load(graph, {});
    data::permute(order, 2, &without_ids);
    without_ids.orig_id.clear();
    EXPECT_NE(train_sampled(without_ids, model, 1, 1), expected) << name;
  }
}

/// A first layer that sums rows of features needs no copy of them; others do as before.
TEST(Batches, FeaturesReadWhereTheyLieGiveTheSameBits) {
  const data::Dataset dataset = data::load("dcsbm:nodes=600,classes=3", {});
  for (const Model& model : models()) {
    std::vector<std::vector<float>> weights;
    std::vector<std::int64_t> bytes;
    for (const bool in_place : {false, true}) {
      train::Session<float> session(dataset, options_for(model, 2));
      train::BatchOptions options = batches_for(std::vector<std::int64_t>(all_neighbours(model).size(), 3), 32);
      options.in_place = in_place;
      train::BatchTraining batches(&session, dataset, options_for(model, 2), options);
      batches.restart(5);
      for (int epoch = 1; epoch <= 2; ++epoch) EXPECT_TRUE(std::isfinite(batches.epoch(epoch, 0.01)));
      weights.push_back(weights_of(session));
      bytes.push_back(batches.bytes());
    }
    EXPECT_EQ(weights[0], weights[1]) << model.name;
    const bool sums_first = model.name == "sage" || model.name == "gin";
    EXPECT_EQ(bytes[1] < bytes[0], sums_first) << model.name;
  }
}

struct OnDevice {
  std::vector<float> weights;
  std::vector<double> losses;
  train::RoutedEpoch epoch;
  std::int64_t grown = 0;
};

OnDevice train_on_device(const data::Dataset& dataset, const Model& model, const schedule::Choice& choice,
                         std::int64_t gbs = 10, std::vector<std::int64_t> fanout = {3, 2}, std::int64_t size = 32) {
  train::Session<float> session(dataset, options_for(model, 2));
  train::BatchOptions options = batches_for(std::move(fanout), size);
  options.device = {schedule::find_profile("uk-sage-b"), {.choice = choice, .gbs = gbs, .seed = 3}};
  train::BatchTraining batches(&session, dataset, options_for(model, 2), options);
  batches.restart(5);
  OnDevice result;
  for (int epoch = 1; epoch <= 2; ++epoch) {
    result.losses.push_back(batches.epoch(epoch, 0.01));
    result.grown += batches.stats().grown;
  }
  result.weights = weights_of(session);
  result.epoch = *batches.routed();
  return result;
}

TEST(Batches, EverySplitOfRoutesGivesTheWeightsOfThePlainTraining) {
  const data::Dataset dataset = data::load("dcsbm:nodes=1500,classes=3", {});
  using schedule::Mode;
  for (const char* name : {"gcn", "sage"}) {
    const Model model{name, {}};
    const std::vector<float> expected = train_sampled(dataset, model, 1, 1);
    std::set<std::int64_t> splits;
    const std::vector<schedule::Choice> choices = {
        {Mode::kCpu, 0},        {Mode::kDevice, 0},     {Mode::kPaper, 0},     {Mode::kBest, 0},
        {Mode::kCoinFlip, 0.2}, {Mode::kCoinFlip, 0.5}, {Mode::kCoinFlip, 0.8}};
    for (const schedule::Choice& choice : choices) {
      for (const std::int64_t gbs : {1, 3}) {
        const OnDevice got = train_on_device(dataset, model, choice, gbs);
        EXPECT_EQ(got.weights, expected) << name << " " << schedule::mode_name(choice.mode) << " " << choice.ratio;
        EXPECT_EQ(got.epoch.run.spans, got.epoch.simulated.spans) << schedule::mode_name(choice.mode);
        EXPECT_EQ(got.epoch.run.epoch, got.epoch.planned.epoch);
        splits.insert(got.epoch.run.batches[0]);
      }
    }
    EXPECT_GE(splits.size(), 4U) << "the choices make too few different splits";
    EXPECT_EQ(*splits.begin(), 0);
    EXPECT_EQ(*splits.rbegin(), (std::ssize(dataset.split.train) + 31) / 32);
  }
}

TEST(Batches, ADeviceOfThreadsGivesTheWeightsOfThePlainTraining) {
  const data::Dataset dataset = data::load("dcsbm:nodes=1500,classes=3", {});
  const Model model{"sage", {}};
  const std::vector<float> expected = train_sampled(dataset, model, 1, 1);
  for (const schedule::Mode mode : {schedule::Mode::kPaper, schedule::Mode::kBest, schedule::Mode::kCoinFlip}) {
    train::Session<float> session(dataset, options_for(model, 2));
    train::BatchOptions options = batches_for({3, 2}, 32);
    options.device = {schedule::find_profile("uk-sage-b"), {.choice = {mode, 0.5}}, true};
    train::BatchTraining batches(&session, dataset, options_for(model, 2), options);
    batches.restart(5);
    for (int epoch = 1; epoch <= 2; ++epoch) batches.epoch(epoch, 0.01);
    EXPECT_EQ(weights_of(session), expected) << schedule::mode_name(mode);
  }
}

TEST(Batches, ABatchBeyondItsRoomOnADeviceChangesNoBit) {
  // Single seeds with all of their neighbours: few of them have most of the edges, and probing misses some of those.
  const data::Dataset dataset = data::load("rmat:scale=9,edge_factor=8,features=8,classes=3", {});
  const Model model{"sage", {}};
  const OnDevice paper = train_on_device(dataset, model, {schedule::Mode::kPaper, 0}, 4, {-1, -1}, 1);
  EXPECT_GT(paper.grown, 0);
  EXPECT_EQ(paper.weights, train_sampled(dataset, model, 1, 1, {-1, -1}, 1));
}

TEST(Batches, ATrainingOnSampledNeighboursLearns) {
  const data::Dataset dataset = data::load("dcsbm:nodes=600,classes=3", {});
  const Model model{"sage", {}};
  train::Session<float> session(dataset, options_for(model));
  train::BatchTraining batches(&session, dataset, options_for(model), batches_for({5, 5}, 32));
  batches.restart(5);
  const double first = batches.epoch(1, 0.01);
  double last = first;
  for (int epoch = 2; epoch <= 15; ++epoch) last = batches.epoch(epoch, 0.01);
  EXPECT_LT(last, 0.7 * first);
  EXPECT_EQ(batches.stats().batches, (std::ssize(dataset.split.train) + 31) / 32);
}

TEST(Batches, NodesWithoutAnyLabelAreNoSeeds) {
  data::Dataset dataset = testing::awkward_dataset({.nodes = 40, .labels = data::LabelKind::kMulti});
  const std::size_t half = dataset.split.train.size() / 2;
  const std::int64_t width = dataset.labels.num_classes;
  for (std::size_t i = half; i < dataset.split.train.size(); ++i)
    std::fill_n(dataset.labels.targets.data() + dataset.split.train[i] * width, width, NAN);
  const Model model{"sage", {}};
  train::SessionOptions options = options_for(model);
  options.loss.kind = train::default_loss(dataset.labels);
  train::Session<float> session(dataset, options);
  train::BatchTraining batches(&session, dataset, options, batches_for({3, 2}, 1));
  batches.restart(5);
  batches.epoch(1, 0.01);
  EXPECT_GT(half, 2U);
  EXPECT_EQ(batches.stats().batches, static_cast<std::int64_t>(half));
}

TEST(Batches, TheFanoutHasOneNumberForEachHop) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 40});
  const Model model{"sage", {}};
  train::Session<float> session(dataset, options_for(model));
  try {
    train::BatchTraining(&session, dataset, options_for(model), batches_for({5, 5, 5}, 8));
    FAIL() << "three numbers for two hops";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.message(), HasSubstr("2 hops, --fanout has 3"));
  }
}

TEST(Batches, EveryWayToDrawTrainsTheSameOnAnyThreads) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 300});
  const std::vector<minibatch::SamplerOptions> ways = {
      {.fanout = {3, 2}},
      {.fanout = {3, 2}, .replace = true},
      {.fanout = {3, 2}, .weighted = true},
      {.fanout = {3, 2}, .replace = true, .weighted = true},
      {.fanout = {3, 2}, .labor = true},
      {.fanout = {3, 2}, .labor = true, .layer_dependency = true},
      {.fanout = {3, 2}, .labor = true, .batch_dependency = 8},
      {.fanout = {3, 2}, .semantics = minibatch::Semantics::kSubgraph},
      {.fanout = {3, -1}},
      {.fanout = {-1, -1}},
  };
  const Model model{"gcn", {}};
  std::set<std::vector<float>> results;
  for (const minibatch::SamplerOptions& way : ways) {
    std::vector<float> first;
    for (const int threads : {1, 3}) {
      train::Session<float> session(dataset, options_for(model, threads));
      train::BatchOptions options = batches_for({}, 16);
      options.sampler = way;
      options.workers = threads;
      train::BatchTraining batches(&session, dataset, options_for(model, threads), options);
      batches.restart(5);
      for (int epoch = 1; epoch <= 2; ++epoch) ASSERT_TRUE(std::isfinite(batches.epoch(epoch, 0.01)));
      if (threads == 1) first = weights_of(session);
      EXPECT_EQ(weights_of(session), first) << batches.describe();
    }
    results.insert(first);
  }
  EXPECT_EQ(results.size(), ways.size()) << "two ways to draw gave the same batches";
}

/// The data set of a batch's nodes and of the edges of its last hop, the seeds first.
data::Dataset batch_as_dataset(const data::Dataset& from, const minibatch::MiniBatch<NodeId>& batch) {
  const minibatch::Block block = batch.hop(batch.hops() - 1);
  const auto edges = static_cast<std::size_t>(block.num_edges());
  graph::EdgeList list{Buffer<NodeId>(edges), Buffer<NodeId>(edges), Buffer<float>(from.graph.weighted() ? edges : 0)};
  for (std::int64_t v = 0; v < block.num_dst; ++v) {
    for (auto e = static_cast<std::size_t>(block.offsets[static_cast<std::size_t>(v)]);
         e < static_cast<std::size_t>(block.offsets[static_cast<std::size_t>(v) + 1]); ++e) {
      list.src[e] = block.sources[e];
      list.dst[e] = static_cast<NodeId>(v);
      if (from.graph.weighted()) list.weight[e] = from.graph.weights()[static_cast<std::size_t>(block.edges[e])];
    }
  }
  const auto nodes = batch.nodes().size();
  const auto cols = static_cast<std::size_t>(from.features.cols);
  data::Dataset made;
  made.name = "batch";
  made.graph = graph::build_graph(list, static_cast<std::int64_t>(nodes));
  made.features.rows = static_cast<std::int64_t>(nodes);
  made.features.cols = from.features.cols;
  made.features.dense = Buffer<float>(nodes * cols);
  made.labels.kind = data::LabelKind::kSingle;
  made.labels.num_classes = from.labels.num_classes;
  made.labels.classes = Buffer<std::int32_t>(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto v = static_cast<std::size_t>(batch.nodes()[i]);
    std::copy_n(from.features.dense.data() + v * cols, cols, made.features.dense.data() + i * cols);
    made.labels.classes[i] = from.labels.classes[v];
    if (i < batch.seeds().size()) made.split.train.push_back(static_cast<NodeId>(i));
  }
  return made;
}

TEST(Batches, DegreesOfABatchAreThoseOfItsOwnGraph) {
  for (const bool weighted : {true, false}) {
    const data::Dataset dataset = testing::awkward_dataset({.nodes = 120, .weighted = weighted, .self_loops = false});
    const minibatch::SamplerOptions sampling{.fanout = {3, 2}, .semantics = minibatch::Semantics::kSubgraph};
    const minibatch::Sampler<NodeId> sampler(minibatch::in_edges(dataset.graph), sampling);
    minibatch::Slab slab;
    const minibatch::SeedOrder<NodeId> order(dataset.split.train, 120, {}, {1000, 5, true});
    sampler.sample({5, 1, 0}, order.batch(order.epoch(1), 0), sampler.make_workspace().get(), &slab);
    const data::Dataset small = batch_as_dataset(dataset, minibatch::MiniBatch<NodeId>(slab));
    for (const bool loops : {true, false}) {
      const Model model{"gcn", {{"dropout", 0.0}, {"self_loops", loops}}};
      train::Session<float> full(small, options_for(model));
      const double expected = full.forward_backward(1);
      double losses[2];
      for (const bool own : {true, false}) {
        train::Session<float> session(dataset, options_for(model));
        train::BatchOptions options = batches_for({}, 1000);
        options.sampler = sampling;
        if (own) options.degrees = passes::DegreesOf::kBatch;
        train::BatchTraining batches(&session, dataset, options_for(model), options);
        batches.restart(5);
        losses[own ? 0 : 1] = batches.epoch(1, 0.0);
      }
      EXPECT_NEAR(losses[0], expected, 1e-5 * expected) << weighted << loops;
      EXPECT_GT(std::abs(losses[1] - expected), 1e-3 * expected) << "degrees of the full graph would do";
    }
  }
}

double largest_difference(MatrixView<const float> a, MatrixView<const float> b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  double largest = 0;
  for (std::int64_t v = 0; v < a.rows; ++v)
    for (std::int64_t c = 0; c < a.cols; ++c)
      largest = std::max(largest, static_cast<double>(std::abs(a.at(v, c) - b.at(v, c))) /
                                      std::max(1.0, static_cast<double>(std::abs(b.at(v, c)))));
  return largest;
}

/// As after a training: parameters and running statistics that are not what they are at first.
void take_some_steps(train::Session<float>* session) {
  for (int epoch = 1; epoch <= 3; ++epoch) {
    session->forward_backward(static_cast<std::uint64_t>(epoch));
    session->update(0.02);
  }
}

/// Makes chunks smaller if there are smaller ones.
bool fits_in_less(train::Session<float>* session, std::int64_t parameter_bytes) {
  const std::int64_t before = session->evaluation_bytes();
  try {
    session->fit_evaluation(before - parameter_bytes - 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    return false;
  }
  EXPECT_LT(session->evaluation_bytes(), before);
  return true;
}

TEST(EvaluationByLayers, GivesTheLogitsOfTheWholeGraphInChunksOfAnySize) {
  for (const bool weighted : {true, false}) {
    const data::Dataset dataset = testing::awkward_dataset({.nodes = 120, .weighted = weighted});
    std::vector<Model> all = models();
    for (const char* name : {"gcn", "sage", "gin", "gat"})
      all.push_back({name, {{"norm", std::string("batch")}, {"num_layers", std::int64_t{3}}}});
    for (const Model& model : all) {
      train::SessionOptions options = options_for(model, 2);
      train::Session<float> whole(dataset, options);
      take_some_steps(&whole);
      whole.evaluate();
      options.by_layers = true;
      train::Session<float> session(dataset, options);
      const std::int64_t parameter_bytes = session.evaluation_bytes();
      session.load_snapshot(weights_of(whole));
      session.evaluate();
      const std::string name = model.name + (weighted ? ", weighted" : "");
      EXPECT_LT(largest_difference(session.logits(), whole.logits()), 2e-5) << name;
      EXPECT_LT(largest_difference(session.embedding(), whole.embedding()), 2e-5) << name;
      EXPECT_NEAR(session.validation_loss(), whole.validation_loss(), 1e-5) << name;
      int sizes = 0;
      while (fits_in_less(&session, parameter_bytes)) {
        EXPECT_THAT(session.describe_evaluation(), ::testing::Not(HasSubstr("in 1 chunks"))) << name;
        session.evaluate();
        EXPECT_LT(largest_difference(session.logits(), whole.logits()), 2e-5)
            << name << ", " << session.describe_evaluation();
        ++sizes;
      }
      EXPECT_GE(sizes, 2) << name;
    }
  }
}

/// The last part is computed for the scored nodes, an earlier one for what these reach.
TEST(EvaluationByLayers, ScoresTakeTheNodesThatTheyReachAlone) {
  data::Dataset dataset = testing::awkward_dataset({.nodes = 120, .weighted = true});
  dataset.split.train.resize(4);
  dataset.split.val.resize(3);
  dataset.split.test.resize(2);
  std::vector<NodeId> scored;
  for (const std::vector<NodeId>* part : {&dataset.split.train, &dataset.split.val, &dataset.split.test})
    scored.insert(scored.end(), part->begin(), part->end());
  for (const char* name : {"gcn", "sage", "gin", "gat"}) {
    const Model model{name, {{"num_layers", std::int64_t{3}}}};
    train::SessionOptions options = options_for(model, 2);
    train::Session<float> whole(dataset, options);
    take_some_steps(&whole);
    whole.evaluate();
    const Buffer<float> expected = whole.logits_of(scored);
    options.by_layers = true;
    options.scores_only = true;
    train::Session<float> session(dataset, options);
    const std::int64_t parameter_bytes = session.evaluation_bytes();
    session.load_snapshot(weights_of(whole));
    const auto check = [&] {
      session.evaluate();
      ASSERT_TRUE(session.logits_come_by_rows());
      EXPECT_THAT(session.describe_evaluation(), HasSubstr("at the end for 9 nodes alone")) << name;
      const Buffer<float> got = session.logits_of(scored);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 2e-5) << name << " " << i;
      EXPECT_NEAR(session.validation_loss(), whole.validation_loss(), 1e-5) << name;
    };
    check();
    int sizes = 0;
    for (; fits_in_less(&session, parameter_bytes); ++sizes) check();
    EXPECT_GE(sizes, 1) << name;
  }
}

TEST(EvaluationByLayers, ScoresOfFewNodesTakeLessMemory) {
  data::Dataset dataset = data::load("dcsbm:nodes=4000,classes=30", {});
  for (std::vector<NodeId>* part : {&dataset.split.train, &dataset.split.val, &dataset.split.test}) part->resize(20);
  train::SessionOptions options = options_for({"sage", {}});
  options.by_layers = true;
  const auto bytes = [&](bool scores_only) {
    options.scores_only = scores_only;
    train::Session<float> session(dataset, options);
    session.evaluate();
    return session.evaluation_bytes();
  };
  EXPECT_LT(bytes(true), bytes(false) - 4000 * 30 * 4) << "the logits of all nodes";
}

TEST(EvaluationByLayers, IsRefusedWithNumbersWhereTheSmallestChunksAreTooLarge) {
  const data::Dataset dataset = testing::awkward_dataset({.nodes = 200});
  const Model model{"sage", {}};
  train::SessionOptions options = options_for(model);
  options.by_layers = true;
  train::Session<float> session(dataset, options);
  try {
    session.fit_evaluation(1000);
    FAIL() << "1000 bytes for the logits of 200 nodes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    EXPECT_THAT(error.message(), HasSubstr("even in the smallest chunks of rows, and --mem leaves 0.0 MiB"));
  }
}

TEST(EvaluationByLayers, TrainsByBatchesAsOneThatEvaluatesAtOnce) {
  const data::Dataset dataset = data::load("dcsbm:nodes=600,classes=3", {});
  const Model model{"sage", {}};
  const std::vector<float> expected = train_sampled(dataset, model, 1, 1);
  train::SessionOptions options = options_for(model);
  options.by_layers = true;
  options.optimizer.clip_norm = 0;
  train::Session<float> session(dataset, options);
  train::BatchOptions sampled = batches_for({3, 2}, 32);
  train::BatchTraining batches(&session, dataset, options, sampled);
  batches.restart(5);
  for (int epoch = 1; epoch <= 2; ++epoch) batches.epoch(epoch, 0.01);
  EXPECT_EQ(weights_of(session), expected);
}

}  // namespace
}  // namespace gneiss
