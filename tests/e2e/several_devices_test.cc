// Training on several devices that share an emulated card: the losses of virtual devices, what plans say of bytes, the
// same bits as threads, as processes and after a kill.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/device_training.h"
#include "support/data_fixtures.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

/// Several devices that share a card, beside as many threads of the CPU.
struct Shared {
  const char* name;
  std::vector<std::string> arguments;
};

class SeveralDevices : public ::testing::TestWithParam<Shared> {};

TEST_P(SeveralDevices, TrainAsVirtualOnesDo) {
  std::vector<std::string> arguments = {"karate", "--epochs", "20", "--defaults", "plain"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  expect_same_training(arguments);
}

INSTANTIATE_TEST_SUITE_P(
    Exchanges, SeveralDevices,
    ::testing::Values(
        Shared{"GcnFine", {"--model", "gcn", "--devices", "2", "--exchange", "fine", "--dropout", "0.3"}},
        Shared{"GcnFineOnMoreDevices", {"--model", "gcn", "--devices", "5", "--exchange", "fine"}},
        Shared{"GcnStream", {"--model", "gcn", "--devices", "3", "--exchange", "stream"}},
        Shared{"GcnHalo", {"--model", "gcn", "--devices", "3", "--exchange", "halo"}},
        Shared{"SageMaxFine", {"--model", "sage", "--aggr", "max", "--devices", "3", "--exchange", "fine"}},
        Shared{"SageBatchNorm",
               {"--model", "sage", "--norm", "batch", "--optimizer", "sgd", "--devices", "2", "--exchange", "fine"}},
        Shared{"Gin", {"--model", "gin", "--lr", "0.002", "--devices", "2", "--exchange", "fine"}},
        Shared{"GatHalo", {"--model", "gat", "--devices", "2", "--exchange", "halo"}}),
    [](const auto& test) { return std::string(test.param.name); });

void expect_what_the_plan_says(const std::vector<std::string>& model) {
  const Workplace place;
  for (const std::string exchange : {"halo", "stream", "fine", "auto"}) {
    SCOPED_TRACE(exchange);
    std::vector<std::string> common = {"--device", "emulated", "--devices", "3", "--exchange", exchange};
    common.insert(common.begin(), model.begin(), model.end());
    std::vector<std::string> words = {"plan", "--json"};
    words.insert(words.end(), common.begin(), common.end());
    const CommandResult planned = place.gneiss(words);
    ASSERT_EQ(planned.code, 0) << planned.err;
    words = {"train", "--epochs", "1", "--out", exchange};
    words.insert(words.end(), common.begin(), common.end());
    const CommandResult trained = place.gneiss(words);
    ASSERT_EQ(trained.code, 0) << trained.err;
    const Json plan = Json::parse(planned.out);
    const Json report = Json::parse(place.read(exchange + "/report.json"));
    EXPECT_EQ(plan["devices"]["trains_by"], report["routes"]["exchange"]);
    const char* const fallen_back = "kernels of cards have all rows before they sum, as by halo";
    EXPECT_EQ(report.dump().find(fallen_back) != std::string::npos, exchange == "stream");
    EXPECT_EQ(plan["devices"]["bytes"], report["routes"]["bytes"]);
    EXPECT_EQ(plan["devices"]["exchange_bytes"], report["routes"]["exchange_bytes"]);
    ASSERT_EQ(plan["devices"]["bytes"].size(), 3U);
    std::int64_t bytes = 0;
    for (const Json& device : plan["devices"]["bytes"]) bytes += device.get<std::int64_t>();
    EXPECT_EQ(plan["card"]["bytes"], bytes);
    EXPECT_THAT(report.dump(), HasSubstr("trained on: 3 devices that share emulated device"));
    std::int64_t fetched = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::size_t from = 0; from < 3; ++from) {
        std::int64_t planned_bytes = 0;
        for (const char* phase : {"setup", "forward", "backward", "inference"})
          planned_bytes += plan["devices"]["fetched_bytes"][d][phase][from].get<std::int64_t>();
        EXPECT_EQ(report["routes"]["fetched_bytes"][d][from], planned_bytes) << "device " << d << " from " << from;
        fetched += planned_bytes;
      }
    }
    EXPECT_GT(fetched, 0);
  }
}

TEST(Device, SeveralTakeOfTheirCardWhatThePlanSays) { expect_what_the_plan_says({"karate", "--model", "gcn"}); }

/// By halo devices have their out-edges too, and fetch who won.
TEST(Device, SeveralTakeWhatThePlanSaysOfADirectedGraph) {
  const std::string graph = "dcsbm:nodes=90,degree=5,features=6,classes=3,directed=1,seed=1";
  expect_what_the_plan_says({graph, "--model", "sage", "--aggr", "max"});
}

TEST(Device, SeveralGoOnToTheSameBits) {
  const Workplace place;
  const auto training = [](const std::string& out) {
    return std::vector<std::string>{"train",    "karate",   "--model",   "gat", "--dropout",          "0.3",
                                    "--device", "emulated", "--devices", "2",   "--checkpoint-every", "5",
                                    "--epochs", "60",       "--out",     out};
  };
  expect_to_go_on(place, training);
}

/// Processes open each other's memory, at addresses of their own.
TEST(Device, SeveralAreThreadsOrProcessesToTheSameBits) {
  const Workplace place;
  for (const std::string exchange : {"halo", "stream", "fine"}) {
    SCOPED_TRACE(exchange);
    const auto train = [&](const std::string& out, bool processes) {
      std::vector<std::string> words = {"train",      "karate",   "--model",   "gat", "--dropout", "0.3",
                                        "--device",   "emulated", "--devices", "3",   "--epochs",  "5",
                                        "--exchange", exchange,   "--out",     out};
      if (processes) words.emplace_back("--processes");
      const CommandResult result = place.gneiss(words);
      EXPECT_EQ(result.code, 0) << result.err;
      return place.read(out + "/model.safetensors");
    };
    const std::string threads = train("threads-" + exchange, false);
    ASSERT_FALSE(threads.empty());
    EXPECT_EQ(train("processes-" + exchange, true), threads);
    const Json report = Json::parse(place.read("processes-" + exchange + "/report.json"));
    EXPECT_EQ(report["routes"]["processes"], true);
    EXPECT_THAT(report.dump(), HasSubstr("trained on: one of 3 devices, each a process, that share emulated device"));
  }
}

TEST(Device, SeveralAreNotChosenByThemselves) {
  const Workplace place;
  const CommandResult result =
      place.gneiss({"train", "karate", "--device", "auto", "--devices", "2", "--epochs", "1", "--out", "run"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(place.read("run/report.json"), HasSubstr("several devices run on cards only where --device cuda asks"));
}

TEST(Device, SeveralShareACardOnCora) {
  const std::optional<fs::path> cora = real_data("planetoid_cora");
  if (!cora) GTEST_SKIP() << "no real data: set GNEISS_DATA to the folder of planetoid_cora/";
  expect_same_training(
      {cora->string(), "--model", "gcn", "--epochs", "20", "--hidden", "16", "--devices", "2", "--exchange", "fine"});
}

}  // namespace
}  // namespace gneiss::testing
