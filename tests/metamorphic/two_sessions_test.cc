// Two trainings at once in one process, each on a thread of its own, give the bits that each gives alone; devices of
// one training, those of one thread.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/loopback.h"
#include "data/load.h"
#include "epochs/metrics.h"
#include "train/full_graph.h"
#include "train/rank_training.h"
#include "train/session.h"

namespace gneiss::train {
namespace {

struct Job {
  const data::Dataset* dataset = nullptr;
  std::string model;
  std::uint64_t seed = 0;
  int threads = 1;
};

struct Result {
  std::vector<double> losses;
  std::vector<double> scores;
  std::vector<float> weights;
};

/// A training from the compilation of its model to its best weights.
Result train(const Job& job) {
  SessionOptions options;
  options.model = job.model;
  options.model_args = {{"dropout", 0.5}, {"norm", std::string("batch")}};
  options.threads = job.threads;
  options.seed = job.seed;
  options.optimizer.clip_norm = 1;
  Session<float> session(*job.dataset, options);
  const data::Split split = epochs::labelled_split(*job.dataset);
  epochs::Evaluator evaluator(epochs::Metric::kMacroF1, job.dataset->labels);
  FullGraphOptions driver;
  driver.epochs = 10;
  driver.metric = epochs::Metric::kMacroF1;
  Result result;
  result.weights.resize(session.snapshot_size());
  const epochs::RunRecord record = train_run(session, split, driver, evaluator, job.seed, {}, result.weights);
  for (const epochs::EpochRecord& epoch : record.epochs) {
    result.losses.insert(result.losses.end(), {epoch.loss, epoch.val_loss});
    result.scores.insert(result.scores.end(), {epoch.scores.train, epoch.scores.val, epoch.scores.test});
  }
  return result;
}

void expect_bits_as_alone(const Job& first, const Job& second) {
  const Job jobs[] = {first, second};
  const Result alone[] = {train(first), train(second)};
  Result together[2];
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&, i] { together[i] = train(jobs[i]); });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(together[i].losses, alone[i].losses) << jobs[i].model;
    EXPECT_EQ(together[i].scores, alone[i].scores) << jobs[i].model;
    EXPECT_EQ(together[i].weights, alone[i].weights) << jobs[i].model;
  }
}

/// Devices of one training, whose threads copy each other's rows while they sum others up.
Result train_on_devices(const std::string& data, const std::string& model, const RowExchange& exchange, int threads) {
  data::Dataset dataset = data::load(data);
  SessionOptions options;
  options.model = model;
  options.model_args = {{"dropout", 0.5}};
  options.threads = threads;
  options.seed = 1;
  const std::unique_ptr<comm::Ranks> world = comm::loopback(3);
  RankTraining training(world.get(), std::move(dataset), options, exchange);
  const data::Split split = epochs::labelled_split(training.dataset());
  epochs::Evaluator evaluator(epochs::Metric::kMacroF1, training.dataset().labels);
  FullGraphOptions driver;
  driver.epochs = 12;
  driver.metric = epochs::Metric::kMacroF1;
  Result result;
  result.weights.resize(training.session().snapshot_size());
  training.run(split, driver, evaluator, 1, {}, result.weights);
  return result;
}

// GCC's OpenMP is not built for the thread sanitizer, which sees races where its threads wait for each other: there
// devices compute on a thread each, beside those that copy rows.
#ifdef __SANITIZE_THREAD__
constexpr int kManyThreads = 3;
#else
constexpr int kManyThreads = 9;
#endif

/// Numbers that a tuner may try.
bool is_small(const exchange::Tuning& tuning) {
  const auto within = [](int number) { return number >= 1 && number <= 16; };
  return within(tuning.piece) && within(tuning.dist) && within(tuning.warps) && within(tuning.stages);
}

TEST(Devices, TakeUpRowsOnAnyNumberOfThreads) {
  constexpr const char* kData = "dcsbm:nodes=400,classes=4,features=20,degree=8,seed=3";
  for (const char* model : {"gcn", "sage"}) {
    Result before;
    for (const auto how : {exchange::Exchange::kHalo, exchange::Exchange::kStream, exchange::Exchange::kFine}) {
      RowExchange rows = {.fetched = true, .how = how, .tuning = {4, 1, 4, 3}, .tunes = is_small};
      const Result one = train_on_devices(kData, model, rows, 3);
      rows.link = {.seconds = 1e-5, .bytes_per_second = 1e9};
      EXPECT_EQ(train_on_devices(kData, model, rows, kManyThreads).weights, one.weights) << exchange::name_of(how);
      if (how == exchange::Exchange::kFine) {
        EXPECT_EQ(one.weights, before.weights) << "the bits of stream";
      }
      before = one;
    }
  }
}

class TwoSessions : public ::testing::TestWithParam<int> {};

TEST_P(TwoSessions, OfOneDataSet) {
  const data::Dataset dataset = data::load("dcsbm:nodes=1500,classes=4,features=40,degree=8,seed=3");
  expect_bits_as_alone({&dataset, "gcn", 1, GetParam()}, {&dataset, "gat", 2, GetParam()});
  expect_bits_as_alone({&dataset, "sage", 3, GetParam()}, {&dataset, "sage", 4, GetParam()});
}

TEST_P(TwoSessions, OfDataSetsOfTheirOwn) {
  const data::Dataset dense = data::load("dcsbm:nodes=1500,classes=4,features=40,degree=8,seed=3");
  const data::Dataset sparse = data::load("dcsbm:nodes=700,classes=3,features=100,density=0.1,seed=4");
  expect_bits_as_alone({&dense, "gin", 1, GetParam()}, {&sparse, "gcn", 2, GetParam()});
}

#ifdef __SANITIZE_THREAD__
// What two sessions share by mistake shows with one thread each.
INSTANTIATE_TEST_SUITE_P(Threads, TwoSessions, ::testing::Values(1));
#else
INSTANTIATE_TEST_SUITE_P(Threads, TwoSessions, ::testing::Values(1, 3));
#endif

}  // namespace
}  // namespace gneiss::train
