// Training on a device, emulated: the losses of the CPU, a run folder as always; and what is said where a device cannot
// do what is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/command.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

fs::path data_folder() {
  if (const char* given = std::getenv("GNEISS_DATA")) return given;
  return fs::path(GNEISS_SOURCE_DIR) / ".." / "shared" / "data";
}

std::vector<Json> epochs_of(const Workplace& place, const std::string& run) {
  std::vector<Json> epochs;
  std::istringstream lines(place.read(run + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) epochs.push_back(Json::parse(line));
  return epochs;
}

/// The same training on the CPU and on the emulated device: epoch by epoch within 1e-5, and the same end.
void expect_same_training(const std::vector<std::string>& arguments) {
  const Workplace place;
  for (const std::string device : {"cpu", "emulated"}) {
    std::vector<std::string> all = {"train"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--device", device, "--out", device});
    const CommandResult result = place.gneiss(all);
    ASSERT_EQ(result.code, 0) << result.err;
  }
  const std::vector<Json> host = epochs_of(place, "cpu");
  const std::vector<Json> device = epochs_of(place, "emulated");
  ASSERT_EQ(host.size(), device.size()) << "one of them stopped earlier";
  ASSERT_GE(host.size(), 20U);
  for (std::size_t e = 0; e < host.size(); ++e) {
    for (const char* what : {"loss", "val_loss"}) {
      if (!host[e][what].is_number()) continue;
      const double want = host[e][what];
      EXPECT_NEAR(device[e][what].get<double>(), want, 1e-5 * std::abs(want)) << what << " of epoch " << e + 1;
    }
  }
  const Json report = Json::parse(place.read("emulated/report.json"));
  EXPECT_THAT(report.dump(), HasSubstr("trained on: emulated device"));
  for (const char* file : {"config.yaml", "model.gneiss", "model.safetensors"}) {
    EXPECT_TRUE(fs::exists(place.path(std::string("emulated/") + file))) << file;
  }
  const CommandResult scores = place.gneiss({"eval", "emulated"});
  EXPECT_EQ(scores.code, 0) << scores.err;
}

class DeviceTrains : public ::testing::TestWithParam<const char*> {};

TEST_P(DeviceTrains, Karate) { expect_same_training({"karate", "--model", GetParam(), "--epochs", "20"}); }

TEST_P(DeviceTrains, SparseFeatures) {
  expect_same_training({"dcsbm:nodes=300,degree=8,features=60,density=0.05,seed=9", "--model", GetParam(), "--hidden",
                        "8", "--epochs", "20", "--weight-decay", "5e-4", "--defaults", "plain"});
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceTrains, ::testing::Values("gcn", "mlp"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Device, GcnOnCora) {
  const fs::path cora = data_folder() / "planetoid_cora";
  if (!fs::exists(cora)) GTEST_SKIP() << "no data sets in " << data_folder() << " (GNEISS_DATA says where)";
  expect_same_training({cora.string(), "--model", "gcn", "--epochs", "20", "--hidden", "16"});
}

TEST(Device, StopsAsEarlyAsTheCpu) {
  expect_same_training({"karate", "--model", "gcn", "--epochs", "300", "--patience", "20", "--dropout", "0.5"});
}

TEST(Device, SgdWithMomentum) {
  expect_same_training({"karate", "--model", "gcn", "--epochs", "20", "--optimizer", "sgd", "--momentum", "0.9"});
}

struct Refused {
  std::vector<std::string> arguments;
  int code;
  std::string message;
};

class DeviceRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(DeviceRefuses, ByName) {
  const Workplace place;
  const CommandResult result = place.gneiss(GetParam().arguments);
  EXPECT_EQ(result.code, GetParam().code);
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
  EXPECT_FALSE(fs::exists(place.path("run")));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, DeviceRefuses,
    ::testing::Values(
        Refused{{"train", "karate", "--device", "gpu", "--out", "run"}, 2, "there is no device 'gpu'"},
        Refused{{"train", "karate", "--device", "cuda:x", "--out", "run"}, 2, "there is no device 'cuda:x'"},
        Refused{{"train", "karate", "--device", "emulated", "--model", "gat", "--out", "run"},
                2,
                "on devices: there is none yet"},
        Refused{{"train", "karate", "--device", "emulated", "--clip-norm", "1", "--out", "run"},
                2,
                "gradients are not clipped on devices yet"},
        Refused{{"train", "karate", "--device", "emulated", "--batch-size", "8", "--out", "run"},
                2,
                "mini-batches do not run on devices yet"},
        Refused{{"train", "karate", "--device", "emulated", "--feature-dtype", "bf16", "--out", "run"}, 2, "16-bit"},
        Refused{{"plan", "karate", "--device", "emulated"}, 2, "plan does not run on devices yet, train does"},
        Refused{{"synth", "karate", "--device", "emulated", "--out", "run"}, 2, "gneiss train takes it"}));

/// No card is here: what a build without CUDA says, and what one with it says of the missing driver or card.
TEST(Device, WithoutACardTheErrorIsNamed) {
  const Workplace place;
  const CommandResult result = place.gneiss({"train", "karate", "--device", "cuda:999", "--epochs", "1"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err,
              ::testing::AnyOf(HasSubstr("this build of Gneiss knows no CUDA"),
                               HasSubstr("there is no CUDA driver on this machine"),
                               HasSubstr("this machine has no CUDA card"), HasSubstr("there is no card cuda:999")));
}

TEST(Device, AutoTakesTheCpuWhereThereIsNoCard) {
  if (fs::exists("/dev/nvidia0")) GTEST_SKIP() << "this machine has a card";
  const Workplace place;
  const CommandResult result = place.gneiss({"train", "karate", "--device", "auto", "--epochs", "1", "--out", "run"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(Json::parse(place.read("run/report.json")).dump(), HasSubstr("--device auto: the CPU, because "));
}

}  // namespace
}  // namespace gneiss::testing
