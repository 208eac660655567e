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
#include "graph/reorder.h"
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
  static const std::vector<Model> list = {
      {"gcn", {}},
      {"gcn", {{"num_layers", std::int64_t{3}}, {"residual", true}, {"jk", std::string("cat")}}},
      {"sage", {}},
      {"sage", {{"aggr", std::string("max")}, {"num_layers", std::int64_t{3}}}},
      {"sage", {{"aggr", std::string("sum")}, {"norm", std::string("layer")}}},
      {"gin", {{"train_eps", true}}},
      {"gin", {}},
      {"gat", {{"heads", std::int64_t{4}}, {"hidden_channels", std::int64_t{16}}}},
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

}  // namespace
}  // namespace gneiss
