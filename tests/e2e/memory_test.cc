// Measured peak memory against the plan, and a count of allocations after the first epoch.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/buffer.h"
#include "base/file.h"
#include "data/load.h"
#include "data/preprocess.h"
#include "e2e/command.h"
#include "epochs/metrics.h"
#include "jobs/device_choice.h"
#include "support/allocation_counter.h"
#include "support/counting_device.h"
#include "support/data_fixtures.h"
#include "train/batches.h"
#include "train/full_graph.h"

namespace gneiss::testing {
namespace {

constexpr bool kSanitized = !kAllocationsAreCounted;  // a sanitizer has an allocator and memory of its own

/// Trains ten epochs and returns what was allocated from the second one on. `in_epoch` is called in every epoch.
long allocations_after_first_epoch(const data::Dataset& dataset, const train::SessionOptions& options,
                                   const std::function<void()>& in_epoch) {
  train::Session<float> session(dataset, options);
  EXPECT_EQ(session.plan().loops.empty(), !options.passes.edge_loops);
  const data::Split split = epochs::labelled_split(dataset);
  epochs::Evaluator evaluator(epochs::Metric::kMacroF1, dataset.labels);
  std::vector<float> weights(session.snapshot_size());
  train::FullGraphOptions driver;
  driver.epochs = 10;
  driver.metric = epochs::Metric::kMacroF1;
  long count = -1;
  const train::Watcher watcher{[&](const epochs::EpochRecord& epoch) {
                                 in_epoch();
                                 if (epoch.epoch == 1) start_counting_allocations();
                                 if (epoch.epoch == 10) count = stop_counting_allocations();
                               },
                               {}};
  train::train_run(session, split, driver, evaluator, 1, watcher, weights);
  return count;
}

/// Of a small model with all that a step may do.
long allocations_after_first_epoch(const std::string& model, const std::function<void()>& in_epoch) {
  const data::Dataset dataset = data::load("dcsbm:nodes=500,classes=4,features=100,density=0.1,seed=3", {});
  train::SessionOptions options;
  options.model = model;
  options.model_args = {{"norm", std::string("batch")}, {"dropout", 0.5}};
  options.optimizer.clip_norm = 1;
  options.threads = 2;
  return allocations_after_first_epoch(dataset, options, in_epoch);
}

class AllocationsOnADevice : public ::testing::TestWithParam<const char*> {};

/// Clipping, scores, which are counted there, and loops over edges, which are compiled before: neither on the host nor
/// there.
TEST_P(AllocationsOnADevice, NoneAfterTheFirstEpoch) {
  if (kSanitized) GTEST_SKIP() << "memory is not counted under a sanitizer";
  const std::string name = GetParam();
  const bool loops = name.ends_with(".gneiss");
  const Workplace place;
  const Environment cache("XDG_CACHE_HOME", place.path("cache").string());
  const data::Dataset dataset = data::load("dcsbm:nodes=60,classes=4,features=12,density=0.3,seed=3", {});
  train::SessionOptions options;
  options.model = loops ? std::string(GNEISS_SOURCE_DIR) + "/tests/synth/models/" + name : name;
  if (!loops) options.model_args = {{"norm", std::string("batch")}, {"dropout", 0.5}};
  options.passes.edge_loops = loops;
  options.optimizer.clip_norm = 1;
  const auto device = std::make_shared<CountingDevice>();
  jobs::run_on(device, &options);
  int taken = 0;
  const long allocated = allocations_after_first_epoch(dataset, options, [&] {
    if (taken == 0) taken = device->allocations();
  });
  EXPECT_EQ(allocated, 0);
  EXPECT_GT(taken, 0);
  EXPECT_EQ(device->allocations(), taken);
}

INSTANTIATE_TEST_SUITE_P(Models, AllocationsOnADevice,
                         ::testing::Values("gcn", "sage", "gin", "gat", "gated_mean.gneiss"), [](const auto& test) {
                           const std::string name = test.param;
                           return name.substr(0, name.find('.'));
                         });

class Allocations : public ::testing::TestWithParam<const char*> {};

TEST_P(Allocations, NoneAfterTheFirstEpoch) {
  if (kSanitized) GTEST_SKIP() << "memory is not counted under a sanitizer";
  EXPECT_EQ(allocations_after_first_epoch(GetParam(), [] {}), 0) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Models, Allocations, ::testing::Values("gcn", "sage", "gin", "gat"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Allocations, OfOneMatrixAnEpochAreCounted) {
  if (kSanitized) GTEST_SKIP() << "memory is not counted under a sanitizer";
  const std::size_t sizes[] = {1, 64 * 64, kHugePage};  // of the last, huge pages
  for (const std::size_t size : sizes) {
    const auto matrix = [&] { EXPECT_NE(Buffer<float>(size).data(), nullptr); };
    EXPECT_EQ(allocations_after_first_epoch("gcn", matrix), 9) << size;
  }
}

TEST(Allocations, OfEveryKindAreCounted) {
  if (kSanitized) GTEST_SKIP() << "memory is not counted under a sanitizer";
  const auto count = [](const std::function<void()>& allocate) {
    start_counting_allocations();
    allocate();
    return stop_counting_allocations();
  };
  const Environment there("TMPDIR", "/var/tmp");
  EXPECT_GE(count([] {
              std::vector<int> values(3, 1);
              EXPECT_EQ(values[2], 1);
            }),
            1);
  EXPECT_GE(count([] { Buffer<float>::zeros(3); }), 1);
  EXPECT_GE(count([] { FileMemory(4096); }), 1);
  EXPECT_EQ(count([] {}), 0);
}

/// Room grows for a batch that is larger than all before, which the first epochs see to.
TEST_P(Allocations, NoneForMiniBatchesAfterTheFirst) {
  if (kSanitized) GTEST_SKIP() << "memory is not counted under a sanitizer";
  const data::Dataset dataset = data::load("dcsbm:nodes=600,classes=4,features=30,seed=3", {});
  train::SessionOptions options;
  options.model = GetParam();
  options.threads = 2;
  train::Session<float> session(dataset, options);
  train::BatchOptions batching;
  batching.sampler.fanout = {3, 3};
  batching.batch_size = 20;
  batching.workers = 1;
  train::BatchTraining batches(&session, dataset, options, batching);
  batches.restart(1);
  for (std::int64_t epoch = 1; epoch <= 2; ++epoch) batches.epoch(epoch, 0.01);
  start_counting_allocations();
  for (std::int64_t epoch = 3; epoch <= 5; ++epoch) batches.epoch(epoch, 0.01);
  const long count = stop_counting_allocations();
  ASSERT_GE(batches.stats().batches, 15);
  EXPECT_EQ(batches.stats().grown, 0);
  EXPECT_EQ(count, 0) << GetParam();
}

/// Of five epochs.
std::vector<double> losses_of(train::Session<float>& session, const data::Dataset& dataset) {
  const data::Split split = epochs::labelled_split(dataset);
  epochs::Evaluator evaluator(epochs::Metric::kAccuracy, dataset.labels);
  std::vector<float> weights(session.snapshot_size());
  train::FullGraphOptions driver;
  driver.epochs = 5;
  std::vector<double> losses;
  train::train_run(session, split, driver, evaluator, 1,
                   {[&](const epochs::EpochRecord& epoch) { losses.push_back(epoch.loss); }, {}}, weights);
  return losses;
}

TEST(StreamedFeatures, GiveTheLossesOfFeaturesInMemory) {
  const Workplace place;
  ASSERT_EQ(place.gneiss({"data", "generate", "dcsbm:nodes=6000,classes=4,features=100,seed=3", "--out", "graph"}).code,
            0);
  const auto train = [&](const char* model, bool stream, bool permuted) {
    data::Dataset dataset = data::load(place.path("graph").string(), {});
    if (permuted) {
      std::vector<NodeId> backwards(static_cast<std::size_t>(dataset.num_nodes()));
      for (std::size_t i = 0; i < backwards.size(); ++i) backwards[i] = static_cast<NodeId>(backwards.size() - 1 - i);
      data::permute(backwards, 2, &dataset);
    }
    train::SessionOptions options;
    options.model = model;
    options.threads = 2;
    options.passes.stream_limits = {0, 1e9};
    if (!stream) options.passes.disabled = {"stream_features"};
    train::Session<float> session(std::move(dataset), options);
    EXPECT_EQ(session.plan().features_streamed, stream && !permuted) << model;
    return losses_of(session, session.dataset());
  };
  for (const char* model : {"sage", "gat"}) {
    const std::vector<double> in_memory = train(model, false, false);
    const std::vector<double> streamed = train(model, true, false);
    const std::vector<double> permuted = train(model, true, true);
    ASSERT_EQ(streamed.size(), 5U);
    for (std::size_t i = 0; i < streamed.size(); ++i) {
      EXPECT_NEAR(streamed[i], in_memory[i], 1e-4 * in_memory[i]) << model << " epoch " << i + 1;
      EXPECT_NEAR(permuted[i], in_memory[i], 1e-4 * in_memory[i])
          << model << " epoch " << i + 1 << ", nodes renamed in the file's pages";
    }
  }
}

TEST(StreamedFeatures, AreSmallOnlyWhereTheSetupDoesNotReadThemAsAWhole) {
  const Workplace place;
  ASSERT_EQ(place.gneiss({"data", "generate", "dcsbm:nodes=6000,classes=4,features=100,seed=3", "--out", "graph"}).code,
            0);
  data::Dataset dataset = data::load(place.path("graph").string(), {});
  const auto streams = [&](const char* model, planner::StreamLimits limits) {
    train::SessionOptions options;
    options.model = model;
    options.passes.order = passes::OrderChoice::kAggregateFirst;
    options.passes.stream_limits = limits;
    train::Session<float> session(dataset, options);
    return session.plan().features_streamed;
  };
  constexpr std::int64_t kMore = std::int64_t{1} << 40;
  const planner::StreamLimits small{
      .least_bytes = kMore, .most_time = 0, .least_bytes_of_small = 0, .most_time_of_small = 1e9};
  EXPECT_TRUE(streams("gat", small));
  EXPECT_FALSE(streams("sage", small)) << "their mean is taken before the first epoch";
  EXPECT_TRUE(streams("sage", {.least_bytes = 0, .most_time = 1e9}));
  EXPECT_FALSE(streams(
      "gat", {.least_bytes = kMore, .most_time = 1e9, .least_bytes_of_small = kMore, .most_time_of_small = 1e9}));
  EXPECT_FALSE(
      streams("gat", {.least_bytes = kMore, .most_time = 1e9, .least_bytes_of_small = 0, .most_time_of_small = 0}));
}

TEST(ConstantsInAFile, GiveTheLossesOfConstantsInMemory) {
  const Workplace place;
  const data::Dataset dataset = data::load("dcsbm:nodes=6000,classes=4,features=100,seed=3");
  const Environment folder("TMPDIR", place.path("").string());
  std::vector<std::string> warnings;
  const auto train = [&](const char* model, std::int64_t room) {
    train::SessionOptions options;
    options.model = model;
    options.threads = 2;
    options.passes.order = passes::OrderChoice::kAggregateFirst;
    options.passes.stream_limits = {0, 1e9};
    options.passes.file_room.scratch_bytes = room;
    train::Session<float> session(dataset, options);
    EXPECT_EQ(session.plan().file_bytes > 0, room > 0 && warnings.empty()) << model;
    warnings = session.warnings();
    return losses_of(session, dataset);
  };
  constexpr std::int64_t kRoom = std::int64_t{1} << 30;
  for (const char* model : {"gcn", "sage", "gin"}) {
    EXPECT_EQ(train(model, kRoom), train(model, 0)) << model;
    EXPECT_TRUE(warnings.empty()) << model;
  }
}

TEST(ConstantsInAFile, StayInMemoryWhereTheFileCannotBeWritten) {
  const Environment folder("TMPDIR", "/proc/no/such/folder");
  const data::Dataset dataset = data::load("dcsbm:nodes=600,classes=4,features=100,seed=3");
  train::SessionOptions options;
  options.model = "gcn";
  options.passes.order = passes::OrderChoice::kAggregateFirst;
  options.passes.stream_limits = {0, 1e9};
  options.passes.file_room.scratch_bytes = std::int64_t{1} << 30;
  train::Session<float> session(dataset, options);
  EXPECT_EQ(session.plan().file_bytes, 0);
  ASSERT_EQ(session.warnings().size(), 1U);
  EXPECT_NE(session.warnings()[0].find("/proc/no/such/folder"), std::string::npos) << session.warnings()[0];
  EXPECT_TRUE(std::isfinite(session.forward_backward(1)));
}

TEST(ConstantsInAFile, NeedNoMemory) {
  if (kSanitized) GTEST_SKIP() << "memory is not counted under a sanitizer";
  const Environment there("TMPDIR", "/var/tmp");
  if (scratch_room() < 2'000'000'000) GTEST_SKIP() << "no 2 GB of disk at /var/tmp";
  const Workplace place;
  const CommandResult made = place.gneiss({"train", "dcsbm:nodes=70000,degree=4,features=1000", "--model", "gcn",
                                           "--defaults", "plain", "--order", "aggregate_first", "--hidden", "256",
                                           "--epochs", "2", "--json", "--no-save", "--threads", "2"});
  ASSERT_EQ(made.code, 0) << made.err;
  const nlohmann::json json = nlohmann::json::parse(made.out);
  const auto peak = json["peak_rss_bytes"].get<double>();
  const auto plan = json["plan_peak_bytes"].get<double>();
  const auto data = json["data_bytes"].get<double>();
  EXPECT_LE(peak, 1.1 * plan) << "measured " << peak / 1048576 << " MiB, planned " << plan / 1048576;
  EXPECT_LT(plan, data + 100e6) << "the aggregated features alone are 280 MB";
}

struct Case {
  const char* name;
  std::vector<std::string> arguments;
};

class PeakMemory : public ::testing::TestWithParam<Case> {};

TEST_P(PeakMemory, StaysWithinThePlan) {
  if (kSanitized) GTEST_SKIP() << "memory is not counted under a sanitizer";
  const Workplace place;
  std::vector<std::string> arguments = {"train"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  arguments.insert(arguments.end(), {"--defaults", "plain", "--epochs", "3", "--json", "--no-save", "--threads", "2"});
  const CommandResult result = place.gneiss(arguments);
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json json = nlohmann::json::parse(result.out);
  const auto peak = json["peak_rss_bytes"].get<double>();
  const auto plan = json["plan_peak_bytes"].get<double>();
  EXPECT_LE(peak, 1.1 * plan) << GetParam().name << ": measured " << peak / 1048576 << " MiB, planned "
                              << plan / 1048576;
  // A plan that is far too large would be of no use either.
  EXPECT_GE(peak, 0.4 * plan) << GetParam().name << ": measured " << peak / 1048576 << " MiB, planned "
                              << plan / 1048576;
}

TEST(PeakMemoryOfAFolder, LeavesOutWhatOnlyTheSetupReads) {
  if (kSanitized) GTEST_SKIP() << "memory is not counted under a sanitizer";
  const Workplace place;
  ASSERT_EQ(place.gneiss({"data", "generate", "dcsbm:nodes=20000,degree=200,features=600", "--out", "graph"}).code, 0);
  const auto peak_of = [&](const std::string& epochs) {
    const CommandResult result = place.gneiss({"train", "graph", "--defaults", "plain", "--epochs", "2",
                                               "--plan-epochs", epochs, "--json", "--no-save", "--threads", "2"});
    EXPECT_EQ(result.code, 0) << result.err;
    const nlohmann::json json = nlohmann::json::parse(result.out);
    const auto peak = json["peak_rss_bytes"].get<double>();
    const auto plan = json["plan_peak_bytes"].get<double>();
    EXPECT_LE(peak, 1.1 * plan) << epochs << " epochs: measured " << peak / 1048576 << " MiB, planned "
                                << plan / 1048576;
    EXPECT_GE(peak, 0.4 * plan) << epochs;
    return peak - json["data_bytes"].get<double>();
  };
  // Beside the data: a graph with self loops (16 MB) and little else; with aggregated features (48 MB) in one long run.
  EXPECT_LT(peak_of("1"), 60e6);
  EXPECT_LT(peak_of("100000"), 100e6);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, PeakMemory,
    ::testing::Values(
        Case{"small", {"karate"}},
        Case{"gcn", {"dcsbm:nodes=30000,degree=20,features=64", "--num-layers", "3", "--hidden", "64"}},
        Case{"dense",
             {"dcsbm:nodes=20000,degree=200,features=64", "--num-layers", "3", "--hidden", "32", "--source-tiles",
              "on"}},
        Case{"sage", {"dcsbm:nodes=30000,degree=20,features=64", "--model", "sage", "--hidden", "64"}},
        Case{"gin", {"dcsbm:nodes=30000,degree=20,features=64", "--model", "gin", "--hidden", "64", "--norm", "batch"}},
        Case{"gat", {"dcsbm:nodes=10000,degree=20,features=64", "--model", "gat", "--hidden", "32"}},
        Case{"halves", {"dcsbm:nodes=30000,degree=20,features=500", "--hidden", "512", "--feature-dtype", "bf16"}},
        Case{"sparse", {"dcsbm:nodes=30000,degree=10,features=2000,density=0.01", "--hidden", "32"}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace gneiss::testing
