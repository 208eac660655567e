// Mini-batches on features that stay in their file, because memory does not hold them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "e2e/command.h"
#include "support/allocation_counter.h"

namespace gneiss::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr bool kSanitized = !kAllocationsAreCounted;

/// A graph whose features take 240 MB.
class FeaturesOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "memory is not counted under a sanitizer";
    const CommandResult made =
        place_.gneiss({"data", "generate", "dcsbm:nodes=20000,degree=4,features=3000,classes=4", "--out", "graph"});
    ASSERT_EQ(made.code, 0) << made.err;
  }

  CommandResult train(std::vector<std::string> more,
                      const std::vector<std::pair<std::string, std::string>>& environment = {},
                      const std::string& data = "graph") const {
    std::vector<std::string> arguments = {"train",        data, "--model",  "sage", "--defaults", "plain",
                                          "--batch-size", "64", "--fanout", "3,2",  "--epochs",   "1",
                                          "--threads",    "2",  "--hidden", "8",    "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return place_.gneiss(arguments, environment);
  }

  Json trained(const std::vector<std::string>& more, const std::string& data = "graph") const {
    const CommandResult result = train(more, {}, data);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? Json::parse(result.out) : Json();
  }

  Workplace place_;
};

/// Wide layers, which a small memory does not hold once, and edges that it does not hold twice.
class LargeGraphs : public FeaturesOnDisk {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "memory is not counted under a sanitizer";
  }
  void generate(const char* spec) const {
    const CommandResult made = place_.gneiss({"data", "generate", spec, "--out", "graph"});
    ASSERT_EQ(made.code, 0) << made.err;
  }
};

TEST_F(LargeGraphs, AnEvaluationKeepsLayersInFiles) {
  generate("dcsbm:nodes=40000,degree=4,features=8,classes=20");
  const std::vector<std::string> words = {"--hidden", "384", "--batch-size", "512"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), words.begin(), words.end());
    return trained(more);
  };
  const Json whole = with({"--no-save"});
  const Json part = with({"--mem", "90M", "--out", "run"});  // a layer takes 61 MB
  EXPECT_EQ(part["losses"], whole["losses"]);
  EXPECT_NEAR(part["test"]["accuracy"]["mean"].get<double>(), whole["test"]["accuracy"]["mean"].get<double>(), 2e-4);
  EXPECT_LE(part["peak_rss_bytes"].get<double>(), 90e6 * 1.05);
  EXPECT_THAT(part["notes"].dump(), HasSubstr("whose values lie in scratch files"));
  const Json scores = Json::parse(place_.gneiss({"eval", "run", "--json"}).out);
  const Json in_files = Json::parse(place_.gneiss({"eval", "run", "--json", "--mem", "90M"}).out);
  EXPECT_NEAR(in_files["val_loss"].get<double>(), scores["val_loss"].get<double>(), 1e-5);
  EXPECT_NEAR(in_files["test"]["accuracy"].get<double>(), scores["test"]["accuracy"].get<double>(), 2e-4);
}

/// The 32 MB of edges are moved once, beside the cluster search and what batches read in the order of the original ids.
TEST_F(LargeGraphs, EdgesAreRenamedInLittleMemory) {
  generate("dcsbm:nodes=100000,degree=80,features=8,classes=20,train=0.01");
  const Json whole = trained({"--reorder", "degree", "--no-save"});
  const Json part = trained({"--reorder", "degree", "--mem", "150M", "--no-save"});
  EXPECT_EQ(part["losses"], whole["losses"]);
  EXPECT_LE(part["peak_rss_bytes"].get<double>(), 150e6 * 1.05);
}

/// 56 MB of edges, of which batches read a copy in the order of the original ids: memory holds the copy alone.
TEST_F(LargeGraphs, RenamedEdgesAreInMemoryOnce) {
  generate("dcsbm:nodes=100000,degree=140,features=8,classes=20,train=0.01");
  const Json whole = trained({"--reorder", "degree", "--no-save"});
  const Json part = trained({"--reorder", "degree", "--mem", "120M", "--no-save"});
  EXPECT_EQ(part["losses"], whole["losses"]);
  EXPECT_NEAR(part["test"]["accuracy"]["mean"].get<double>(), whole["test"]["accuracy"]["mean"].get<double>(), 2e-4);
  EXPECT_LE(part["peak_rss_bytes"].get<double>(), 120e6 * 1.05);
  EXPECT_GT(whole["peak_rss_bytes"].get<double>(), 150e6);
}

/// Scores of 194,000 nodes read 116 MB of logits from their file.
TEST_F(LargeGraphs, LogitsThatScoresReadAreCounted) {
  generate("dcsbm:nodes=200000,degree=4,features=8,classes=150,train=0.02,val=0.01");
  const std::vector<std::string> wide = {"--hidden", "128", "--batch-size", "256", "--no-save"};
  const auto with = [&](const char* mem) {
    std::vector<std::string> more = wide;
    more.insert(more.end(), {"--mem", mem});
    return more;
  };
  const CommandResult little = train(with("100M"));
  EXPECT_EQ(little.code, 4) << little.err;
  EXPECT_THAT(little.err, HasSubstr("evaluation layer by layer takes"));
  const Json enough = trained(with("170M"));
  EXPECT_LE(enough["peak_rss_bytes"].get<double>(), 170 * 1048576.0);
}

/// Slabs for the batches that workers prepare ahead are most of what this takes: two of them fit, four do not.
TEST_F(LargeGraphs, BatchesWaitInFewSlabs) {
  generate("dcsbm:nodes=60000,degree=10,features=400,classes=4");
  const std::vector<std::string> words = {"--batch-size", "2048", "--fanout", "10,5", "--no-save"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), words.begin(), words.end());
    return trained(more);
  };
  const Json whole = with({});
  const Json part = with({"--mem", "250M"});
  EXPECT_EQ(part["losses"], whole["losses"]);
  EXPECT_LE(part["peak_rss_bytes"].get<double>(), 250e6 * 1.05);
}

TEST_F(FeaturesOnDisk, LessMemoryThanTheyTakeTrainsTheSame) {
  const CommandResult in_memory = train({"--no-save"});
  ASSERT_EQ(in_memory.code, 0) << in_memory.err;
  const CommandResult limited = train({"--mem", "150M", "--out", "run"});
  ASSERT_EQ(limited.code, 0) << limited.err;
  const Json whole = Json::parse(in_memory.out);
  const Json part = Json::parse(limited.out);
  EXPECT_EQ(part["losses"], whole["losses"]);
  EXPECT_LE(part["peak_rss_bytes"].get<double>(), 150e6 * 1.05);
  EXPECT_FALSE(whole.contains("routes"));
  EXPECT_GT(part["routes"]["file"]["rows"].get<double>(), 20000);
  const CommandResult plan = place_.gneiss({"plan", "graph", "--model", "sage", "--batch-size", "64", "--mem", "150M"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.err, HasSubstr("would evaluate layer by layer"));
  // What the run folder is good for keeps within the same memory, and says the same as without a limit.
  const CommandResult scores = place_.gneiss({"eval", "run", "--mem", "150M"});
  ASSERT_EQ(scores.code, 0) << scores.err;
  EXPECT_EQ(scores.out, place_.gneiss({"eval", "run"}).out);
}

TEST_F(FeaturesOnDisk, ARefusedRingIsSaidAndChangesNothing) {
  const CommandResult limited = train({"--mem", "150M", "--no-save"});
  const CommandResult refused =
      train({"--mem", "150M", "--no-save"}, {{"LD_PRELOAD", GNEISS_FAIL_NTH}, {"FAIL_RING", "1"}});
  ASSERT_EQ(refused.code, 0) << refused.err;
  const Json with = Json::parse(limited.out);
  const Json without = Json::parse(refused.out);
  EXPECT_EQ(without["losses"], with["losses"]);
  EXPECT_EQ(without["test"], with["test"]);
  const std::string by = without["routes"]["file"]["by"];
  EXPECT_THAT(by, ::testing::AnyOf("single reads (the system refuses io_uring: Operation not permitted)",
                                   "single reads (this gneiss was built without liburing)"));
  EXPECT_THAT(without["notes"].dump(), HasSubstr("by single reads ("));
  const CommandResult doctor = place_.gneiss({"doctor"}, {{"LD_PRELOAD", GNEISS_FAIL_NTH}, {"FAIL_RING", "1"}});
  EXPECT_THAT(doctor.out + doctor.err, HasSubstr("one at a time: "));
}

TEST_F(FeaturesOnDisk, SixteenBitsAreReadAsTheyAreStored) {
  const CommandResult made = place_.gneiss({"data", "convert", "graph", "halves", "--feature-dtype", "bf16"});
  ASSERT_EQ(made.code, 0) << made.err;
  const auto train_halves = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--feature-dtype", "bf16", "--no-save"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = train(words, {}, "halves");
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out);
  };
  const Json whole = train_halves({});
  const Json part = train_halves({"--mem", "150M"});
  EXPECT_EQ(part["losses"], whole["losses"]);
  EXPECT_LT(part["peak_rss_bytes"].get<double>(), 120e6);
  EXPECT_FALSE(whole.contains("routes"));
  EXPECT_EQ(part["routes"]["file"]["row_bytes"], 6000);
}

/// Renaming moves rows to a scratch file that batches read: neither holds them in memory.
TEST_F(FeaturesOnDisk, RenamedOutOfMemoryTheyTrainTheSame) {
  const Json whole = trained({"--reorder", "clusters", "--no-save"});
  const Json part = trained({"--reorder", "clusters", "--mem", "150M", "--no-save"});
  EXPECT_EQ(part["losses"], whole["losses"]);
  EXPECT_EQ(part["reorder"]["method"], "clusters");
  EXPECT_LE(part["peak_rss_bytes"].get<double>(), 150e6 * 1.05);
  EXPECT_GT(whole["peak_rss_bytes"].get<double>(), 240e6);
  EXPECT_THAT(part["routes"]["file"]["path"].get<std::string>(), HasSubstr("a scratch file in "));
  EXPECT_THAT(place_.list(), ::testing::ElementsAre("graph"));
}

/// Devices keep hot rows, and read the others from the file.
TEST_F(FeaturesOnDisk, HotRowsAreKeptAndTheOthersReadFromTheFile) {
  const std::vector<std::string> small = {"--batch-size", "16", "--no-save"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), small.begin(), small.end());
    return trained(more);
  };
  const Json plain = with({});
  const Json hot = with({"--device", "sim:v100", "--hot", "2%", "--mem", "200M"});
  EXPECT_EQ(hot["losses"], plain["losses"]);
  EXPECT_LE(hot["peak_rss_bytes"].get<double>(), 200e6 * 1.05);
  const Json& rows = hot["routes"]["rows"];
  EXPECT_EQ(rows["hot"], 400);
  EXPECT_GT(rows["device"]["rows"].get<double>(), 0);
  EXPECT_GE(hot["routes"]["file"]["rows"].get<double>(),
            rows["link"]["rows"].get<double>() + rows["cpu"]["rows"].get<double>());
  const Json two = with({"--devices", "2"});
  const Json both = with({"--devices", "2", "--hot", "1%", "--hot-edges", "5%", "--mem", "190M", "--processes"});
  EXPECT_EQ(both["losses"], two["losses"]);
  EXPECT_EQ(both["routes"]["shared_rows"], 400);
  EXPECT_TRUE(both["routes"].contains("file"));
}

TEST_F(FeaturesOnDisk, AReadThatFailsIsNamedAndLeavesNoRun) {
  const CommandResult failed =
      train({"--mem", "150M", "--out", "run"}, {{"LD_PRELOAD", GNEISS_FAIL_NTH}, {"FAIL_READ", "3"}});
  EXPECT_EQ(failed.code, 4) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("of the features cannot be read: Input/output error"));
  EXPECT_THAT(failed.err, HasSubstr("features.npy"));
  EXPECT_THAT(place_.list(), Not(::testing::Contains("run")));
}

/// Renaming fills a scratch file: whichever step towards it finds no room, the run ends with a named error and leaves
/// nothing. (Not in the workplace: that may lie in memory, where no scratch file is made.)
TEST_F(FeaturesOnDisk, AFullDiskWhileRenamingIsNamedAndLeavesNothing) {
  const auto renamed = [&](long failing) {
    return train({"--reorder", "clusters", "--mem", "150M", "--out", "run"},
                 {{"LD_PRELOAD", GNEISS_FAIL_NTH}, {"TMPDIR", "/var/tmp"}, {"FAIL_DISK", std::to_string(failing)}});
  };
  bool at_the_file = false;
  for (long n = 1; n <= 4; ++n) {
    const CommandResult full = renamed(n);
    EXPECT_EQ(full.code, 4) << n << ": " << full.err;
    EXPECT_THAT(full.err, HasSubstr("No space left on device")) << n;
    EXPECT_THAT(place_.list(), ::testing::ElementsAre("graph")) << n;
    at_the_file = at_the_file || full.err.find("cannot write a temporary file of 240000000 bytes") != std::string::npos;
  }
  EXPECT_TRUE(at_the_file);
}

}  // namespace
}  // namespace gneiss::testing
