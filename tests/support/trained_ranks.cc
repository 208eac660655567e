#include "support/trained_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>

#include "comm/loopback.h"
#include "cost/device_profile.h"
#include "epochs/metrics.h"

namespace gneiss::testing {
namespace {

std::vector<double> scores_of(const Trained& trained) {
  const epochs::Scores& scores = trained.record.epochs.back().scores;
  return {scores.train, scores.val, scores.test};
}

}  // namespace

data::Dataset data_with_scores(const AwkwardOptions& options) {
  data::Dataset dataset = awkward_dataset(options);
  dataset.split.val.clear();
  dataset.split.test.clear();
  std::vector<bool> trains(static_cast<std::size_t>(dataset.num_nodes()), false);
  for (const NodeId v : dataset.split.train) trains[static_cast<std::size_t>(v)] = true;
  for (NodeId v = 0; v < dataset.num_nodes(); ++v) {
    if (trains[static_cast<std::size_t>(v)]) continue;
    std::vector<NodeId>& part =
        dataset.split.val.size() > dataset.split.test.size() ? dataset.split.test : dataset.split.val;
    part.push_back(v);
  }
  return dataset;
}

train::FullGraphOptions driver_for(const data::Dataset& dataset, int epochs) {
  train::FullGraphOptions driver;
  driver.epochs = epochs;
  driver.metric = epochs::default_metric(dataset);
  return driver;
}

train::RowExchange device_exchange(exchange::Exchange how) {
  return {.fetched = true, .how = how, .tuning = {3, 1, 2, 2}};
}

int count(const ir::Program& program, std::initializer_list<ir::OpKind> kinds) {
  return static_cast<int>(std::count_if(program.ops.begin(), program.ops.end(), [&](const ir::Op& op) {
    return std::find(kinds.begin(), kinds.end(), op.kind) != kinds.end();
  }));
}

train::SessionOptions for_card(train::SessionOptions options) {
  options.passes.target = planner::Target::kDevice;
  options.passes.rates = cost::h100_profile().rates;
  return options;
}

Trained train_alone(const data::Dataset& dataset, const RankModel& model, int epochs) {
  train::Session<float> session(dataset, rank_options(model, dataset));
  const train::FullGraphOptions driver = driver_for(dataset, epochs);
  epochs::Evaluator evaluator(driver.metric, dataset.labels);
  Trained made;
  made.weights.resize(session.snapshot_size());
  made.record = train::train_run(session, dataset.split, driver, evaluator, 5, {}, made.weights);
  made.plan = session.plan();
  return made;
}

Trained train_alone(const AwkwardOptions& data, const RankModel& model) {
  return train_alone(data_with_scores(data), model);
}

Trained train_by(comm::Ranks* world, data::Dataset dataset, const RankModel& model, int threads,
                 const train::RowExchange& exchange, const std::string& partition, int epochs) {
  train::SessionOptions options = rank_options(model, dataset);
  if (!exchange.devices.empty()) options = for_card(std::move(options));
  options.threads = threads;
  train::RankTraining training(world, std::move(dataset), options, exchange, {partition, {}});
  const data::Split split = training.dataset().split;  // the training may have renamed the nodes
  const train::FullGraphOptions driver = driver_for(training.dataset(), epochs);
  epochs::Evaluator evaluator(driver.metric, training.dataset().labels);
  Trained made;
  made.weights.resize(training.session().snapshot_size());
  made.record = training.run(split, driver, evaluator, 5, {}, made.weights);
  made.plan = training.session().plan();
  return made;
}

Trained train_on(int ranks, data::Dataset dataset, const RankModel& model, int threads,
                 const train::RowExchange& exchange, const std::string& partition, int epochs) {
  const std::unique_ptr<comm::Ranks> world = comm::loopback(ranks);
  return train_by(world.get(), std::move(dataset), model, threads, exchange, partition, epochs);
}

Trained train_on(int ranks, const AwkwardOptions& data, const RankModel& model, int threads,
                 const train::RowExchange& exchange, const std::string& partition) {
  return train_on(ranks, data_with_scores(data), model, threads, exchange, partition);
}

void expect_same_training(const Trained& got, const Trained& expected) {
  ASSERT_EQ(got.record.epochs.size(), expected.record.epochs.size());
  for (std::size_t e = 0; e < got.record.epochs.size(); ++e) {
    const epochs::EpochRecord& mine = got.record.epochs[e];
    const epochs::EpochRecord& theirs = expected.record.epochs[e];
    ASSERT_NEAR(mine.loss, theirs.loss, 1e-5 * std::abs(theirs.loss)) << "epoch " << e;
    ASSERT_NEAR(mine.val_loss, theirs.val_loss, 1e-5 * std::abs(theirs.val_loss)) << "epoch " << e;
  }
  EXPECT_THAT(scores_of(got), ::testing::Pointwise(::testing::NanSensitiveDoubleEq(), scores_of(expected)));
}

}  // namespace gneiss::testing
