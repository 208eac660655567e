// What ranks take: no allocation from the second epoch on, sparse features that stay sparse, and the bytes of a rank
// that `gneiss plan --ranks` promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/loopback.h"
#include "data/load.h"
#include "data/parts.h"
#include "e2e/command.h"
#include "epochs/metrics.h"
#include "language/compile.h"
#include "partition/contiguous.h"
#include "partition/owners.h"
#include "support/allocation_counter.h"
#include "support/data_fixtures.h"
#include "train/rank_plan.h"
#include "train/rank_training.h"

namespace gneiss::testing {
namespace {

using Json = nlohmann::json;

constexpr int kRanks = 3;

train::SessionOptions options_for(const data::Dataset& dataset, const std::string& model) {
  train::SessionOptions options;
  options.model = model;
  options.loss.kind = train::default_loss(dataset.labels);
  options.threads = kRanks;
  return options;
}

struct Trained {
  epochs::RunRecord record;
  long allocations = -1;  ///< of all ranks, in the epochs behind the second
  std::int64_t bytes = 0;
};

Trained train_on_ranks(const std::string& data, const train::SessionOptions& options, std::int64_t epochs,
                       exchange::Exchange how = exchange::Exchange::kHalo) {
  const std::unique_ptr<comm::Ranks> world = comm::loopback(kRanks);
  train::RankTraining training(world.get(), data::load(data, {}), options, {.how = how});
  const data::Split split = training.dataset().split;
  train::FullGraphOptions driver;
  driver.epochs = epochs;
  driver.metric = epochs::default_metric(training.dataset());
  epochs::Evaluator evaluator(driver.metric, training.dataset().labels);
  std::vector<float> weights(training.session().snapshot_size());
  Trained made;
  const train::Watcher watcher{[&](const epochs::EpochRecord& epoch) {
                                 if (epoch.epoch == 2) start_counting_allocations();
                                 if (epoch.epoch == epochs) made.allocations = stop_counting_allocations();
                               },
                               {}};
  made.record = training.run(split, driver, evaluator, 1, watcher, weights);
  made.bytes = training.bytes();
  return made;
}

class RankAllocations : public ::testing::TestWithParam<const char*> {};

TEST_P(RankAllocations, NoneAfterTheSecondEpoch) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "memory is not counted under a sanitizer";
  const std::string data = "dcsbm:nodes=600,classes=4,features=40,seed=3";
  train::SessionOptions options = options_for(data::load(data, {}), GetParam());
  options.model_args = {{"norm", std::string("batch")}, {"dropout", 0.5}};
  options.optimizer.clip_norm = 1;
  EXPECT_EQ(train_on_ranks(data, options, 8).allocations, 0);
  EXPECT_EQ(train_on_ranks(data, options, 8, exchange::Exchange::kStream).allocations, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, RankAllocations, ::testing::Values("gcn", "sage", "gin", "gat"),
                         [](const auto& test) { return std::string(test.param); });

TEST(RankMemory, SparseFeaturesStaySparse) {
  const std::string data = "nell:scale=0.02";
  const data::Dataset dataset = data::load(data, {});
  const train::SessionOptions options = options_for(dataset, "gcn");
  const std::vector<std::int64_t> starts = partition::contiguous(dataset.graph.offsets(), kRanks);
  comm::loopback(kRanks)->run([&](comm::Communicator& communicator) {
    train::RankData here = train::cut_dataset(dataset, starts, communicator, options.loss.kind, {});
    const train::Session<float> session(here.dataset, options, &here.part);
    const ir::Program& program = session.plan().program;
    for (const ir::Op& op : program.ops) {
      EXPECT_NE(op.kind, ir::OpKind::to_dense);
      for (const ir::ValueId v : op.results) {
        if (v == ir::kNoValue || program.type(v).domain == ir::Domain::kGlobal) continue;
        if (program.type(v).layout == ir::Layout::kSparse) continue;
        EXPECT_LT(program.type(v).cols, dataset.features.cols) << ir::traits(op.kind).name;
      }
    }
  });
  train::Session<float> alone(dataset, options);
  alone.reset(1);
  const double expected = alone.forward_backward(1);
  EXPECT_NEAR(train_on_ranks(data, options, 1).record.epochs[0].loss, expected, 1e-5 * expected);
}

/// The most that was resident since the last call of reset_peak(), bytes.
std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::int64_t kib = 0;
  while (status >> word) {
    if (word == "VmHWM:") status >> kib;
  }
  return kib * 1024;
}

bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return static_cast<bool>(file);
}

/// Pages that are planned and that no value reaches are not taken; poisoned memory is taken whole.
void expect_bytes_of_plan(exchange::Exchange how) {
  if (std::getenv("GNEISS_POISON") == nullptr) GTEST_SKIP() << "run it with GNEISS_POISON=1, as ctest does";
  if (!kAllocationsAreCounted) GTEST_SKIP() << "a sanitizer has memory of its own";
  constexpr int kTwo = 2;
  const data::Dataset dataset = data::load("dcsbm:nodes=60000,edges=600000,classes=8,features=64,seed=3", {});
  train::SessionOptions options = options_for(dataset, "gcn");
  options.model_args = {{"num_layers", std::int64_t{3}}, {"hidden_channels", std::int64_t{64}}};
  options.threads = 1;
  const auto session = std::make_unique<train::Session<float>>(data::load("karate", {}), options_for(dataset, "gcn"));
  session->forward_backward(1);  // what the process takes once
  language::CompileOptions compile;
  compile.inputs = train::program_inputs(dataset);
  compile.args = options.model_args;
  options.compiled =
      std::make_shared<const language::CompileResult>(language::compile(*language::builtin_model("gcn"), compile));
  const std::vector<std::int64_t> starts = partition::contiguous(dataset.graph.offsets(), kTwo);
  const std::vector<partition::PartTraffic> traffic =
      partition::part_traffic(dataset.graph, partition::owners_of(starts), kTwo);
  const train::RankPlanner planner(dataset, options, {.how = how});
  double planned = 0;
  for (int rank = 0; rank < kTwo; ++rank) {
    const train::PlannedRank one = planner.plan(starts, traffic, rank);
    planned += static_cast<double>(one.bytes);
    EXPECT_GT(one.ghosts, 0);
  }
  malloc_trim(0);
  if (!reset_peak()) GTEST_SKIP() << "/proc/self/clear_refs cannot be written here";
  const std::int64_t before = peak_bytes();
  comm::loopback(kTwo)->run([&](comm::Communicator& communicator) {
    train::RankData here = train::cut_dataset(dataset, starts, communicator, options.loss.kind, {});
    here.part.exchange = how;
    train::Session<float> mine(std::move(here.dataset), options, &here.part);
    for (int e = 1; e <= 2; ++e) {
      mine.forward_backward(static_cast<std::uint64_t>(e));
      mine.update(0.01);
    }
  });
  const auto taken = static_cast<double>(peak_bytes() - before);
  ::testing::Test::RecordProperty("bytes", fmt::format("{} planned, {} taken", planned, taken));
  EXPECT_NEAR(planned / taken, 1, 0.05) << planned << " bytes planned, " << taken << " taken";
}

TEST(RankMemory, ARankTakesWhatItsPlanSays) { expect_bytes_of_plan(exchange::Exchange::kHalo); }
TEST(RankMemory, ARankTakesWhatItsPlanSaysWithOwnEdgesFirst) { expect_bytes_of_plan(exchange::Exchange::kStream); }

/// Resident bytes of what is mapped of a file.
std::int64_t resident_bytes(const std::string& file) {
  std::ifstream maps("/proc/self/smaps");
  std::int64_t kib = 0;
  bool counts = false;
  for (std::string line; std::getline(maps, line);) {
    const bool opens = line.find('-') != std::string::npos && line.find('-') < line.find(' ');
    if (opens) counts = line.ends_with(file);
    if (counts && line.starts_with("Rss:")) kib += std::stoll(line.substr(4));
  }
  return kib * 1024;
}

TEST(RankMemory, OfAFolderThatWasCutARankTouchesItsPartAlone) {
  constexpr int kParts = 4;
  constexpr std::int64_t kSlack = std::int64_t{1} << 20;  // pages come in by groups
  const TempFolder folder;
  const std::string path = (folder.path() / "parts").string();
  data::Dataset made = data::load("dcsbm:nodes=48000,edges=1200000,classes=8,features=64,seed=3", {});
  made.part_starts = partition::contiguous(made.graph.offsets(), kParts);
  data::save(made, path);
  data::LoadOptions options;
  options.parts = kParts;
  const data::Dataset parts = data::load(path, options);
  ASSERT_TRUE(parts.by_parts);
  const std::pair<const char*, std::int64_t> files[] = {
      {"parts/in_indices.npy", static_cast<std::int64_t>(made.graph.sources().size_bytes())},
      {"parts/features.npy", static_cast<std::int64_t>(made.features.dense.size_bytes())}};
  for (const auto& [file, bytes] : files) {
    EXPECT_GT(bytes, 4 * kSlack) << file;
    EXPECT_LT(resident_bytes(file), kSlack) << file << ", once it is loaded";
  }
  constexpr int kRank = 2;
  data::check_in_edges(parts, parts.part_starts[kRank], parts.part_starts[kRank + 1]);
  std::vector<NodeId> ghosts;
  const train::RankData mine = train::cut_part(parts, parts.part_starts, kRank, &ghosts);
  for (const auto& [file, bytes] : files) {
    EXPECT_GT(resident_bytes(file), 0) << file;
    EXPECT_LT(resident_bytes(file), bytes / kParts + kSlack) << file;
  }
  const train::RankData expected = train::cut_part(made, made.part_starts, kRank, &ghosts);
  EXPECT_EQ(list(mine.dataset.graph.sources()), list(expected.dataset.graph.sources()));
  EXPECT_EQ(list(mine.dataset.features.dense), list(expected.dataset.features.dense));
}

TEST(RankMemory, PlansOfRanksAreATable) {
  const Workplace place;
  const std::vector<std::string> arguments = {
      "plan", "dcsbm:nodes=3000,classes=4,features=64,seed=3", "--ranks", "6", "--network", "1GB/s,20us"};
  std::vector<std::string> with_json = arguments;
  with_json.emplace_back("--json");
  const CommandResult result = place.gneiss(with_json);
  ASSERT_EQ(result.code, 0) << result.err;
  const Json ranks = Json::parse(result.out)["ranks"];
  std::vector<int> counts;
  double least = 0;
  int fastest = 0;
  for (const Json& row : ranks["table"]) {
    counts.push_back(row["ranks"].get<int>());
    const auto seconds = row["epoch_seconds"].get<double>();
    EXPECT_NEAR(seconds, row["compute_seconds"].get<double>() + row["exposed_seconds"].get<double>(), 1e-12);
    EXPECT_NEAR(row["communicate_seconds"].get<double>(),
                row["hidden_seconds"].get<double>() + row["exposed_seconds"].get<double>(), 1e-12);
    EXPECT_GE(row["exposed_seconds"].get<double>(), 0);
    if (fastest == 0 || seconds < least) {
      least = seconds;
      fastest = counts.back();
    }
  }
  EXPECT_THAT(counts, ::testing::ElementsAre(1, 2, 4, 6));
  EXPECT_EQ(ranks["advised"], fastest);
  EXPECT_EQ(ranks["table"][0]["communicate_seconds"], 0.0);
  EXPECT_GT(ranks["table"][1]["communicate_seconds"], 0.0);
  EXPECT_LT(ranks["table"][3]["bytes"], ranks["table"][0]["bytes"]);
  EXPECT_THAT(place.gneiss(arguments).out, ::testing::HasSubstr("on several ranks, each a machine like this one"));
}

/// Ranks that share a machine compute with a part of it, and talk as they were measured to.
TEST(RankMemory, PlansOfRanksThatShareAMachineGoByWhatTheyMeasured) {
  const Workplace place;
  const std::vector<std::pair<std::string, std::string>> cache = {{"XDG_CACHE_HOME", place.path("cache").string()}};
  const auto planned = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"plan", "dcsbm:nodes=3000,classes=4,features=64,seed=3", "--ranks", "2", "--json"});
    const CommandResult result = place.gneiss(more, cache);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out)["ranks"];
  };
  const Json apart = planned({});
  const Json together = planned({"--ranks-per-node", "2"});
  EXPECT_EQ(apart["network"], "a fast network, not measured");
  EXPECT_EQ(together["table"][0], apart["table"][0]);
  EXPECT_GT(together["table"][1]["compute_seconds"].get<double>(),
            1.5 * apart["table"][1]["compute_seconds"].get<double>());

  const CommandResult measured = place.gneiss({"doctor", "--calibrate", "--ranks", "2"}, cache);
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_THAT(measured.out, ::testing::HasSubstr("on each of 2 ranks"));
  EXPECT_THAT(measured.out, ::testing::HasSubstr("network, measured between 2 ranks"));
  const Json known = planned({"--ranks-per-node", "2"});
  EXPECT_EQ(known["network"], "measured between 2 ranks");
  EXPECT_EQ(known["per_node"], 2);
  EXPECT_THAT(known["rates"].get<std::string>(), ::testing::HasSubstr("on each of 2 ranks"));
  EXPECT_EQ(planned({})["network"], apart["network"]);
  const Json given = planned({"--ranks-per-node", "2", "--network", "1GB/s,20us"});
  EXPECT_EQ(given["bytes_per_second"], 1e9);
  EXPECT_EQ(given["network"], "as given");

  const auto refused = [&](const std::vector<std::string>& arguments, const char* what) {
    const CommandResult result = place.gneiss(arguments, cache);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_THAT(result.err, ::testing::HasSubstr(what));
  };
  refused({"train", "karate", "--ranks", "2", "--ranks-per-node", "2"}, "use it with gneiss plan --ranks N");
  refused({"plan", "karate", "--ranks-per-node", "2"}, "use it with gneiss plan --ranks N");
  refused({"doctor", "--ranks", "2"}, "add --calibrate");
  refused({"doctor", "--calibrate", "--ranks", "0"}, "--ranks: expected 1 to 1024, got 0");
}

}  // namespace
}  // namespace gneiss::testing
