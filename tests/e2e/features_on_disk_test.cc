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

  Workplace place_;
};

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

TEST_F(FeaturesOnDisk, AReadThatFailsIsNamedAndLeavesNoRun) {
  const CommandResult failed =
      train({"--mem", "150M", "--out", "run"}, {{"LD_PRELOAD", GNEISS_FAIL_NTH}, {"FAIL_READ", "3"}});
  EXPECT_EQ(failed.code, 4) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("of the features cannot be read: Input/output error"));
  EXPECT_THAT(failed.err, HasSubstr("features.npy"));
  EXPECT_THAT(place_.list(), Not(::testing::Contains("run")));
}

}  // namespace
}  // namespace gneiss::testing
