// Runs the command twice and compares what it leaves in run folders.
#include "e2e/device_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>

namespace gneiss::testing {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::vector<Json> epochs_of(const Workplace& place, const std::string& run) {
  std::vector<Json> epochs;
  std::istringstream lines(place.read(run + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) epochs.push_back(Json::parse(line));
  return epochs;
}

std::vector<Json> expect_same_training(const std::vector<std::string>& arguments) {
  const Workplace place;
  for (const std::string device : {"cpu", "emulated"}) {
    std::vector<std::string> all = {"train"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--device", device, "--out", device});
    const CommandResult result = place.gneiss(all);
    EXPECT_EQ(result.code, 0) << result.err;
    if (result.code != 0) return {};
  }
  const std::vector<Json> host = epochs_of(place, "cpu");
  const std::vector<Json> device = epochs_of(place, "emulated");
  EXPECT_EQ(host.size(), device.size()) << "one of them stopped earlier";
  EXPECT_GE(host.size(), 20U);
  for (std::size_t e = 0; e < std::min(host.size(), device.size()); ++e) {
    EXPECT_EQ(device[e]["lr"], host[e]["lr"]) << "epoch " << e + 1;
    for (const char* what : {"loss", "val_loss"}) {
      if (!host[e][what].is_number()) continue;
      const double want = host[e][what];
      EXPECT_NEAR(device[e][what].get<double>(), want, 1e-5 * std::abs(want)) << what << " of epoch " << e + 1;
    }
  }
  const Json report = Json::parse(place.read("emulated/report.json"));
  EXPECT_THAT(report.dump(), ::testing::ContainsRegex("trained on: (. devices that share )?emulated device,"));
  for (const char* file : {"config.yaml", "model.gneiss", "model.safetensors"}) {
    EXPECT_TRUE(fs::exists(place.path(std::string("emulated/") + file))) << file;
  }
  const CommandResult scores = place.gneiss({"eval", "emulated"});
  EXPECT_EQ(scores.code, 0) << scores.err;
  EXPECT_EQ(report["best_epoch"], Json::parse(place.read("cpu/report.json"))["best_epoch"]);
  return device;
}

void expect_to_go_on(const Workplace& place,
                     const std::function<std::vector<std::string>(const std::string& out)>& training) {
  ASSERT_EQ(place.gneiss(training("whole")).code, 0);
  CommandResult result = place.gneiss_killed(training("run"), std::chrono::milliseconds(20));
  ASSERT_EQ(result.code, 128 + 9) << "too quick to be killed";
  result = place.gneiss({"resume", "run"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(place.read("run/model.safetensors"), place.read("whole/model.safetensors"));
}

}  // namespace gneiss::testing
