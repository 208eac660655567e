// Training on a device, emulated: the losses of the CPU, a run folder as always; and what is said where a device cannot
// do what is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/command.h"
#include "support/data_fixtures.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

std::vector<Json> epochs_of(const Workplace& place, const std::string& run) {
  std::vector<Json> epochs;
  std::istringstream lines(place.read(run + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) epochs.push_back(Json::parse(line));
  return epochs;
}

/// The same training on the CPU and on the emulated device: epoch by epoch within 1e-5, and the same end. Returns the
/// epochs of the device.
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

class DeviceTrains : public ::testing::TestWithParam<const char*> {};

TEST_P(DeviceTrains, Karate) { expect_same_training({"karate", "--model", GetParam(), "--epochs", "20"}); }

TEST_P(DeviceTrains, SparseFeatures) {
  expect_same_training({"dcsbm:nodes=300,degree=8,features=60,density=0.05,seed=9", "--model", GetParam(), "--hidden",
                        "8", "--epochs", "20", "--weight-decay", "5e-4", "--defaults", "plain"});
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceTrains, ::testing::Values("gcn", "mlp"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Device, GcnOnCora) {
  const std::optional<fs::path> cora = real_data("planetoid_cora");
  if (!cora) GTEST_SKIP() << "no real data: set GNEISS_DATA to the folder of planetoid_cora/";
  expect_same_training({cora->string(), "--model", "gcn", "--epochs", "20", "--hidden", "16"});
}

TEST(Device, StopsAsEarlyAsTheCpu) {
  const std::vector<Json> epochs = expect_same_training(
      {"karate", "--model", "gcn", "--epochs", "300", "--patience", "20", "--monitor", "loss", "--dropout", "0.5"});
  EXPECT_LT(epochs.size(), 300U) << "it did not stop";
}

/// The weights that are kept are those of the best epoch, which is none of the last: a training that ends there, where
/// it is scored for the only time, has the same.
TEST(Device, KeepsTheWeightsOfTheBestEpoch) {
  const Workplace place;
  const auto train = [&](const std::string& device, const std::string& epochs, const std::string& out,
                         const std::string& between = "1") {
    const CommandResult result =
        place.gneiss({"train", "karate", "--model", "sage", "--lr", "0.1", "--monitor", "metric", "--patience", "0",
                      "--device", device, "--epochs", epochs, "--eval-every", between, "--out", out});
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(place.read(out + "/report.json"))["best_epoch"][0].get<std::int64_t>();
  };
  const std::int64_t best = train("emulated", "30", "whole");
  ASSERT_LT(best, 30);
  EXPECT_EQ(best, train("cpu", "30", "host"));
  const std::vector<Json> epochs = epochs_of(place, "whole");
  ASSERT_EQ(epochs.size(), 30U);
  for (const Json& epoch : epochs) {
    const Json& kept = epochs[static_cast<std::size_t>(best - 1)]["val"];
    EXPECT_TRUE(epoch["epoch"] < best ? epoch["val"] < kept : epoch["val"] <= kept) << epoch["epoch"];
  }
  EXPECT_EQ(train("emulated", std::to_string(best), "to_the_best", std::to_string(best)), best);
  EXPECT_TRUE(place.read("whole/model.safetensors") == place.read("to_the_best/model.safetensors"));
}

TEST(Device, FollowsASchedule) {
  expect_same_training({"karate", "--model", "gcn", "--epochs", "20", "--lr-schedule", "cosine", "--warmup-epochs", "3",
                        "--patience", "0"});
}

TEST(Device, FollowsAPlateau) {
  const std::vector<Json> epochs =
      expect_same_training({"karate", "--model", "gcn", "--epochs", "30", "--lr", "0.1", "--monitor", "loss",
                            "--lr-schedule", "plateau", "--plateau-patience", "3", "--patience", "0"});
  ASSERT_FALSE(epochs.empty());
  EXPECT_LT(epochs.back()["lr"], 0.05) << "it was lowered too seldom to show";
}

TEST(Device, ALossThatIsNotFiniteEndsTheTraining) {
  const Workplace place;
  const CommandResult result = place.gneiss({"train", "karate", "--device", "emulated", "--optimizer", "sgd", "--lr",
                                             "1e30", "--epochs", "50", "--out", "run"});
  EXPECT_EQ(result.code, 5) << result.err;
  EXPECT_THAT(result.err, ::testing::ContainsRegex("error: .*epoch [0-9]+"));
  EXPECT_FALSE(fs::exists(place.path("run")));
}

TEST(Device, SgdWithMomentum) {
  expect_same_training({"karate", "--model", "gcn", "--epochs", "20", "--optimizer", "sgd", "--momentum", "0.9"});
}

TEST(Device, SageByMeanWithBatchNormAndResidualConnections) {
  expect_same_training({"karate", "--model", "sage", "--epochs", "20", "--norm", "batch", "--residual", "--clip-norm",
                        "0.5", "--weight-decay", "0.01"});
}

TEST(Device, SageByMaxWithLayerNormAndJumpingKnowledge) {
  expect_same_training({"karate", "--model", "sage", "--aggr", "max", "--epochs", "20", "--norm", "layer", "--jk",
                        "cat", "--class-weights", "balanced"});
}

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

TEST(Device, SeveralTakeOfTheirCardWhatThePlanSays) {
  const Workplace place;
  for (const std::string exchange : {"halo", "stream", "fine", "auto"}) {
    const std::vector<std::string> common = {"karate",    "--model", "gcn",        "--device", "emulated",
                                             "--devices", "3",       "--exchange", exchange};
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

/// Killed and resumed, it ends with the weights of one that was not. `training`: the command, by its run folder.
void expect_to_go_on(const Workplace& place,
                     const std::function<std::vector<std::string>(const std::string& out)>& training) {
  ASSERT_EQ(place.gneiss(training("whole")).code, 0);
  CommandResult result = place.gneiss_killed(training("run"), std::chrono::milliseconds(20));
  ASSERT_EQ(result.code, 128 + 9) << "too quick to be killed";
  result = place.gneiss({"resume", "run"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(place.read("run/model.safetensors"), place.read("whole/model.safetensors"));
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

/// Kernels of another design run where they are asked for by name, and nowhere else.
TEST(Device, TrainsByMorphlingsKernelsWhereTheyAreAskedFor) {
  const Workplace place;
  const std::vector<std::string> train = {"train",      "dcsbm:nodes=120,degree=8,features=60,density=0.05,seed=9",
                                          "--model",    "gcn",
                                          "--hidden",   "8",
                                          "--epochs",   "20",
                                          "--defaults", "plain",
                                          "--order",    "transform_first",
                                          "--device",   "emulated",
                                          "--out"};
  const auto run = [&](const std::string& out, const std::vector<std::pair<std::string, std::string>>& environment) {
    std::vector<std::string> all = train;
    all.push_back(out);
    return place.gneiss(all, environment);
  };
  const CommandResult ours = run("ours", {{"GNEISS_VERBOSE", "dispatch"}});
  ASSERT_EQ(ours.code, 0) << ours.err;
  EXPECT_THAT(ours.err, ::testing::Not(HasSubstr("morphling")));
  const CommandResult theirs =
      run("theirs", {{"GNEISS_VERBOSE", "dispatch"}, {"GNEISS_KERNEL", "spmm:morphling,spx_gemm:morphling"}});
  ASSERT_EQ(theirs.code, 0) << theirs.err;
  EXPECT_THAT(theirs.err, HasSubstr("dispatch: spmm runs morphling"));
  EXPECT_THAT(theirs.err, HasSubstr("dispatch: spx_gemm runs morphling"));
  const std::vector<Json> want = epochs_of(place, "ours");
  const std::vector<Json> got = epochs_of(place, "theirs");
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t e = 0; e < want.size(); ++e)
    EXPECT_NEAR(got[e]["loss"].get<double>(), want[e]["loss"].get<double>(), 1e-5 * want[e]["loss"].get<double>());
  const CommandResult unknown = run("unknown", {{"GNEISS_KERNEL", "spmm:magic"}});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("spmm has no variant 'magic'"));
  EXPECT_THAT(unknown.err, HasSubstr("its variants are cuda, morphling"));
}

/// What follows a kernel is done in it, or in kernels of its own: the same bits.
class Epilogues : public ::testing::TestWithParam<const char*> {};

TEST_P(Epilogues, ChangeNoBit) {
  const Workplace place;
  std::vector<std::string> words = {"karate", "--device", "emulated", "--seed", "3", "--defaults", "plain"};
  std::istringstream given(GetParam());
  for (std::string word; given >> word;) words.push_back(word);
  const auto run = [&](const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> all = {command};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), more.begin(), more.end());
    CommandResult result = place.gneiss(all);
    EXPECT_EQ(result.code, 0) << result.err;
    return result;
  };
  EXPECT_THAT(run("plan", {}).out, HasSubstr(" in one kernel"));
  run("train", {"--epochs", "3", "--out", "fused"});
  run("train", {"--epochs", "3", "--passes-off", "fuse_epilogues", "--out", "apart"});
  EXPECT_EQ(place.read("fused/model.safetensors"), place.read("apart/model.safetensors"));
}

// Widths of whole fours and others, narrow operands, residual connections, dropout behind products and sums.
INSTANTIATE_TEST_SUITE_P(Models, Epilogues,
                         ::testing::Values("--model gcn --hidden 32 --num-layers 3 --dropout 0.4",
                                           "--model gcn --hidden 7 --dropout 0.3 --residual --norm layer",
                                           "--model sage --hidden 16 --aggr max --residual --jk max",
                                           "--model gin --hidden 12 --norm batch --dropout 0.2",
                                           "--model gat --hidden 24 --heads 3 --residual",
                                           "--model gat --hidden 6 --heads 3 --act relu",
                                           "--model sage --hidden 16 --feature-dtype bf16 --dropout 0.2"));

TEST(Device, Gin) { expect_same_training({"karate", "--model", "gin", "--epochs", "20"}); }

TEST(Device, GatWithHeadsAndDropoutOfAttention) {
  expect_same_training({"karate", "--model", "gat", "--epochs", "20", "--heads", "4"});
}

TEST(Device, SeveralLabelsANode) {
  expect_same_training({"dcsbm:nodes=60,degree=4,features=8,multilabel=1", "--model", "gcn", "--epochs", "20"});
}

TEST(Device, FeaturesInSixteenBits) {
  expect_same_training({"karate", "--model", "sage", "--epochs", "20", "--feature-dtype", "bf16"});
}

/// Forms of features and labels that go through other kernels of each model.
///
/// Which aggregated features are constants, and so kept in 16 bits, depends on the order of products, which is chosen
/// by the target's rates: of features in 16 bits it is given. A bias that batch normalisation takes off again has
/// gradients of rounding alone, of which Adam makes whole steps, which evaluation sees: there it is SGD.
struct Form {
  const char* name;
  std::vector<std::string> arguments;
};

class Forms : public ::testing::TestWithParam<Form> {};

TEST_P(Forms, TrainAsOnTheCpu) {
  std::vector<std::string> arguments = GetParam().arguments;
  arguments.insert(arguments.end(), {"--epochs", "20", "--hidden", "8", "--defaults", "plain"});
  expect_same_training(arguments);
}

constexpr const char* kWords = "dcsbm:nodes=150,degree=6,features=40,density=0.05,seed=9";
constexpr const char* kSeveralLabels = "dcsbm:nodes=60,degree=4,features=8,multilabel=1";

INSTANTIATE_TEST_SUITE_P(
    Models, Forms,
    ::testing::Values(
        Form{"SageOfSparseFeatures", {kWords, "--model", "sage", "--feature-form", "sparse"}},
        Form{"SageMaxOfSparseFeatures", {kWords, "--model", "sage", "--aggr", "max", "--feature-form", "sparse"}},
        Form{"GinOfSparseFeatures", {kWords, "--model", "gin", "--feature-form", "sparse", "--lr", "0.002"}},
        Form{"GatOfSparseFeatures", {kWords, "--model", "gat", "--feature-form", "sparse", "--input-dropout", "0.3"}},
        Form{"GcnOfBf16", {"karate", "--model", "gcn", "--feature-dtype", "bf16", "--order", "aggregate_first"}},
        Form{"GcnOfF16", {"karate", "--model", "gcn", "--feature-dtype", "f16", "--order", "transform_first"}},
        Form{"GatOfBf16", {"karate", "--model", "gat", "--feature-dtype", "bf16"}},
        Form{"GatOfF16", {"karate", "--model", "gat", "--feature-dtype", "f16", "--heads", "2"}},
        Form{"SageOfBf16", {"karate", "--model", "sage", "--feature-dtype", "bf16", "--order", "aggregate_first"}},
        Form{"GinOfF16", {"karate", "--model", "gin", "--feature-dtype", "f16", "--order", "aggregate_first"}},
        Form{"SageOfSeveralLabels", {kSeveralLabels, "--model", "sage"}},
        Form{"GatOfSeveralLabels", {kSeveralLabels, "--model", "gat", "--heads", "2"}},
        Form{"GcnWithBatchNorm",
             {"karate", "--model", "gcn", "--norm", "batch", "--dropout", "0.3", "--optimizer", "sgd"}},
        Form{"GatWithBatchNorm", {"karate", "--model", "gat", "--norm", "batch", "--optimizer", "sgd"}}),
    [](const auto& test) { return std::string(test.param.name); });

class LayersOfUsers : public ::testing::TestWithParam<const char*> {
 protected:
  /// Adam makes so much of the rounding of own_gatv2's small gradients that the CPU's instruction sets differ by
  /// 4e-5 after 16 epochs at the default rate: it takes smaller steps.
  void train(const std::vector<std::string>& more) const {
    const std::string name = GetParam();
    const fs::path model = fs::path(GNEISS_SOURCE_DIR) / "tests" / "synth" / "models" / (name + ".gneiss");
    std::vector<std::string> words = {"karate", "--model", model.string(), "--epochs", "20"};
    if (name == "own_gatv2") words.insert(words.end(), {"--lr", "0.002"});
    words.insert(words.end(), more.begin(), more.end());
    expect_same_training(words);
  }
};

TEST_P(LayersOfUsers, TrainByTheUnfusedOps) { train({}); }

TEST_P(LayersOfUsers, TrainByLoopsOverEdges) { train({"--jit"}); }

INSTANTIATE_TEST_SUITE_P(Models, LayersOfUsers, ::testing::Values("gated_mean", "own_gatv2", "edge_conv"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Device, SaysWhatValuesOfEdgesTake) {
  const Workplace place;
  const fs::path model = fs::path(GNEISS_SOURCE_DIR) / "tests" / "synth" / "models" / "gated_mean.gneiss";
  const auto report = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"train",    "karate",  "--epochs", "1",  "--device",
                                    "emulated", "--force", "--out",    "run"};
    all.insert(all.end(), more.begin(), more.end());
    const CommandResult result = place.gneiss(all);
    EXPECT_EQ(result.code, 0) << result.err;
    return place.read("run/report.json");
  };
  EXPECT_THAT(report({"--model", model.string()}),
              HasSubstr("ops on edges run one by one on a device, --jit makes loops of them: "));
  EXPECT_THAT(report({"--model", model.string(), "--jit"}), HasSubstr("loops over edges keep no row of "));
  EXPECT_THAT(report({"--model", "gcn"}), ::testing::Not(HasSubstr("ops on edges")));
}

/// A recorded step, replayed, has the bits of one whose ops are launched and waited for one by one. Dropout of edges is
/// drawn anew in every step.
TEST(Device, LoopsOverEdgesAreRecordedAndReplayed) {
  const Workplace place;
  const std::string layer = place.path("layer.gneiss").string();
  place.write("layer.gneiss",
              "layer l(x: node[F], out: int) -> node[out] {\n  param A: [F, 6];\n  param B: [F, 6];\n"
              "  param C: [6, out];\n  a = x * A;\n  b = x * B;\n  m = dropout(tanh(a@src + b@dst), 0.4) * C;\n"
              "  return sum(m) over in_edges;\n}\n");
  const auto train = [&](const std::string& out, const std::vector<std::pair<std::string, std::string>>& environment) {
    std::vector<std::pair<std::string, std::string>> all = environment;
    all.emplace_back("XDG_CACHE_HOME", place.path("cache").string());
    const CommandResult result = place.gneiss({"train", "karate", "--model", layer, "--epochs", "5", "--device",
                                               "emulated", "--jit", "--out", out, "--quiet"},
                                              all);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, ::testing::Not(HasSubstr("warning")));
  };
  train("replayed", {});
  train("one_by_one", {{"GNEISS_DEVICE_SYNC", "1"}});
  EXPECT_EQ(place.read("replayed/model.safetensors"), place.read("one_by_one/model.safetensors"));
  // Where nothing compiles them, the kernels do the same; that is said, with why.
  const CommandResult without = place.gneiss({"train", "karate", "--model", layer, "--epochs", "5", "--device",
                                              "emulated", "--jit", "--out", "without", "--quiet"},
                                             {{"GNEISS_CXX", "/nowhere/c++"}});
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_THAT(without.err, HasSubstr("warning: no loops over edges were compiled"));
  EXPECT_THAT(without.err, HasSubstr("no C++ compiler"));
}

TEST(Device, APlanWithLoopsTakesLessOfACard) {
  const Workplace place;
  const fs::path model = fs::path(GNEISS_SOURCE_DIR) / "tests" / "synth" / "models" / "gated_mean.gneiss";
  const auto bytes = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"plan", "dcsbm:nodes=20000,degree=20,seed=1", "--model", model.string(), "--device",
                                    "cuda"};
    all.insert(all.end(), more.begin(), more.end());
    const CommandResult result = place.gneiss(all);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr(more.empty() ? "--jit makes loops of them" : "loops over edges keep no row of "));
    const std::size_t at = result.out.find("all of it, taken at once");
    return at == std::string::npos ? 0.0 : std::strtod(result.out.c_str() + at + 24, nullptr);
  };
  const double with = bytes({"--jit"});
  EXPECT_GT(with, 0);
  EXPECT_LT(with, 0.7 * bytes({}));
}

/// Killed at a moment of its own, gone on with: the weights of the undisturbed run.
TEST(Device, AKilledTrainingGoesOnToTheSameBytes) {
  const Workplace place;
  const auto training = [](const std::string& out) {
    return std::vector<std::string>{"train",      "karate",    "--model",  "sage",     "--norm",
                                    "batch",      "--dropout", "0.5",      "--epochs", "120",
                                    "--patience", "0",         "--device", "emulated", "--checkpoint-every",
                                    "1",          "--out",     out};
  };
  expect_to_go_on(place, training);
}

/// What a schedule and early stopping have seen so far is kept too: the checkpoint is of an epoch in the middle of the
/// patience after the best one.
TEST(Device, AKilledTrainingStopsAsEarlyAndFollowsItsSchedule) {
  const Workplace place;
  const auto training = [](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"train", "karate", "--model", "gcn", "--device", "emulated", "--out", out};
    for (const char* word : {"--dropout", "0.5", "--epochs", "300", "--monitor", "loss", "--patience", "40",
                             "--lr-schedule", "plateau", "--plateau-patience", "6", "--plateau-factor", "0.5"})
      words.emplace_back(word);
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  ASSERT_EQ(place.gneiss(training("whole", {})).code, 0);
  const std::vector<Json> whole = epochs_of(place, "whole");
  ASSERT_LT(whole.size(), 300U) << "it did not stop";
  const std::int64_t best = Json::parse(place.read("whole/report.json"))["best_epoch"][0];
  ASSERT_LT(whole.back()["lr"], whole[static_cast<std::size_t>(best)]["lr"]) << "the schedule did nothing";
  const CommandResult killed = place.gneiss_killed(training("run", {"--checkpoint-every", std::to_string(best + 10)}),
                                                   std::chrono::milliseconds(1));
  ASSERT_EQ(killed.code, 128 + 9) << "too quick to be killed";
  const CommandResult result = place.gneiss({"resume", "run"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
  const std::vector<Json> resumed = epochs_of(place, "run");
  ASSERT_EQ(resumed.size(), whole.size());
  for (std::size_t e = 0; e < whole.size(); ++e) {
    for (const char* what : {"epoch", "loss", "val_loss", "val", "lr"})
      EXPECT_EQ(resumed[e][what], whole[e][what]) << what << " of epoch " << e + 1;
  }
}

TEST(Device, StoppedByASignalItGoesOnToTheSameBytes) {
  const Workplace place;
  const auto training = [](const std::string& out) {
    return std::vector<std::string>{"train", "karate",     "--model", "gcn",      "--dropout", "0.5",   "--epochs",
                                    "300",   "--patience", "0",       "--device", "emulated",  "--out", out};
  };
  ASSERT_EQ(place.gneiss(training("whole")).code, 0);
  const CommandResult stopped = place.gneiss_with_signal(training("run"), SIGTERM);
  ASSERT_EQ(stopped.code, 75) << stopped.err;
  EXPECT_EQ(place.gneiss({"eval", "run"}).code, 0) << "the weights so far are there";
  const CommandResult resumed = place.gneiss({"resume", "run"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(place.read("run/model.safetensors"), place.read("whole/model.safetensors"));
}

TEST(Device, PredictionsAndScoresAreThoseOfTheCpu) {
  const Workplace place;
  ASSERT_EQ(place.gneiss({"train", "karate", "--model", "gat", "--epochs", "10", "--out", "run"}).code, 0);
  for (const std::string command : {"predict", "embed"}) {
    for (const std::string device : {"cpu", "emulated"}) {
      const CommandResult result =
          place.gneiss({command, "run", "--device", device, "--out", command + "-" + device + ".csv"});
      ASSERT_EQ(result.code, 0) << result.err;
    }
  }
  for (const std::string command : {"predict", "embed"}) {
    std::istringstream host(place.read(command + "-cpu.csv"));
    std::istringstream device(place.read(command + "-emulated.csv"));
    int compared = 0;
    std::string a, b;
    while (std::getline(host, a, ',')) {
      ASSERT_TRUE(std::getline(device, b, ','));
      char* end = nullptr;
      const double want = std::strtod(a.c_str(), &end);
      if (end == a.c_str()) {
        EXPECT_EQ(b, a);  // a heading
        continue;
      }
      EXPECT_NEAR(std::strtod(b.c_str(), nullptr), want, 1e-5 * (1 + std::abs(want)));
      ++compared;
    }
    EXPECT_GE(compared, 34);
    EXPECT_FALSE(std::getline(device, b, ','));
  }
  const Json cpu = Json::parse(place.gneiss({"eval", "run", "--json"}).out);
  const Json emulated = Json::parse(place.gneiss({"eval", "run", "--json", "--device", "emulated"}).out);
  EXPECT_EQ(emulated["test"], cpu["test"]);
  EXPECT_NEAR(emulated["val_loss"].get<double>(), cpu["val_loss"].get<double>(), 1e-5);
}

/// What the emulation takes is what the plan says, to a tenth of a MiB; to the byte: runtime_device_test.cc.
TEST(Device, APlanForACardNeedsNoCard) {
  const Workplace place;
  const CommandResult result = place.gneiss({"plan", "karate", "--model", "gat", "--device", "cuda", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json plan = Json::parse(result.out);
  EXPECT_EQ(plan["card"]["name"], "NVIDIA H100 80GB as it is described");
  EXPECT_THAT(plan["rates"].get<std::string>(), HasSubstr("modelled and not measured"));
  EXPECT_GT(plan["predicted_seconds"]["epoch"].get<double>(), 0);
  std::int64_t bytes = 0;
  for (const Json& part : plan["card"]["parts"]) bytes += (part["bytes"].get<std::int64_t>() + 255) / 256 * 256;
  EXPECT_EQ(plan["card"]["bytes"], bytes);
  const CommandResult text = place.gneiss({"plan", "karate", "--model", "gat", "--device", "cuda"});
  EXPECT_THAT(text.out, HasSubstr("memory of the card: NVIDIA H100 80GB as it is described"));
  const CommandResult trained =
      place.gneiss({"train", "karate", "--model", "gat", "--epochs", "1", "--device", "emulated", "--out", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  std::ostringstream taken;
  taken << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / (1 << 20) << " MiB of its memory";
  EXPECT_THAT(Json::parse(place.read("run/report.json")).dump(), HasSubstr(taken.str()));
}

TEST(Device, ProductsOnTensorCoresAreAsAccurate) {
  const Workplace place;
  const std::vector<std::string> common = {"train", "karate", "--hidden", "64", "--epochs", "20", "--seed", "3"};
  const auto trained = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words = common;
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--out", out});
    const CommandResult result = place.gneiss(words);
    EXPECT_EQ(result.code, 0) << result.err;
    return epochs_of(place, out);
  };
  const std::vector<Json> host = trained("host", {});
  const std::vector<Json> device = trained("run", {"--device", "emulated", "--tensor-cores"});
  trained("again", {"--device", "emulated", "--tensor-cores"});
  trained("plain", {"--device", "emulated"});
  ASSERT_EQ(host.size(), device.size());
  for (std::size_t e = 0; e < host.size(); ++e) {
    const double want = host[e]["loss"];
    EXPECT_NEAR(device[e]["loss"].get<double>(), want, 1e-5 * std::abs(want)) << e;
  }
  EXPECT_TRUE(place.read("again/model.safetensors") == place.read("run/model.safetensors"));
  EXPECT_FALSE(place.read("plain/model.safetensors") == place.read("run/model.safetensors")) << "they were not taken";
  EXPECT_EQ(place.gneiss({"eval", "run"}).code, 0);
  EXPECT_EQ(place.gneiss({"eval", "run", "--device", "emulated"}).code, 0);
}

/// Memory of a card costs nothing until it is full: values are made again in backward to fit, and not before.
TEST(Device, ValuesAreMadeAgainOnlyWhereTheCardIsFull) {
  const Workplace place;
  const auto plan = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"plan",         "dcsbm:nodes=20000,degree=8,classes=5,features=100",
                                      "--model",      "sage",
                                      "--num-layers", "3",
                                      "--hidden",     "256",
                                      "--defaults",   "plain",
                                      "--device",     "cuda",
                                      "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return place.gneiss(words);
  };
  const auto json_of = [&](const std::vector<std::string>& more) {
    const CommandResult result = plan(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? Json::parse(result.out) : Json();
  };
  const char* const again = "is made again in backward";
  const Json whole = json_of({});
  EXPECT_GT(whole["card"]["bytes"].get<std::int64_t>(), std::int64_t{64} << 20);
  EXPECT_THAT(whole.dump(), ::testing::Not(HasSubstr(again)));
  const std::int64_t less = whole["card"]["bytes"].get<std::int64_t>() - 1;
  const Json fitted = json_of({"--device-mem", std::to_string(less)});
  EXPECT_THAT(fitted.dump(), HasSubstr(again));
  EXPECT_LE(fitted["card"]["bytes"].get<std::int64_t>(), less);
  EXPECT_GE(fitted["predicted_seconds"]["epoch"], whole["predicted_seconds"]["epoch"]);
  const CommandResult refused = plan({"--device-mem", "32M"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("as it is described, 33554432 of 33554432 bytes are free; the largest: "));
}

/// The graphs of the papers, small parts of them: what a card would take and how long, and what is too much for one.
TEST(Device, PresetsArePlannedForACard) {
  const Workplace place;
  for (const std::string data : {"reddit:scale=0.005", "ogbn-products:scale=0.02"}) {
    SCOPED_TRACE(data);
    const std::vector<std::string> words = {"plan", data, "--model", "gcn", "--device", "cuda"};
    const CommandResult text = place.gneiss(words);
    ASSERT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, ::testing::ContainsRegex("all of it, taken at once +[1-9][0-9.]+ MiB"));
    EXPECT_THAT(text.out,
                ::testing::ContainsRegex("an epoch: forward, backward, update +[0-9]*\\.?[0-9]*[1-9][0-9]* ms"));
    EXPECT_THAT(text.out, HasSubstr("by rates of an NVIDIA H100"));
    std::vector<std::string> limited = words;
    limited.insert(limited.end(), {"--device-mem", "4M"});
    const CommandResult refused = place.gneiss(limited);
    EXPECT_EQ(refused.code, 4);
    EXPECT_THAT(refused.err, ::testing::ContainsRegex(
                                 "the plan takes [0-9]{7,} bytes of NVIDIA H100 80GB as it is described, 4194304 of "
                                 "4194304 bytes are free; the largest: [a-z ]+ [0-9]{7,} bytes, [a-z ]+ [0-9]{7,} "
                                 "bytes, "));
    EXPECT_THAT(refused.err, ::testing::ContainsRegex("largest:.* features [0-9]{7,} bytes"));
  }
}

/// What reads a run folder takes a device as training does, and says the same of one that does not do.
class CommandOfARun : public ::testing::TestWithParam<const char*> {
 protected:
  CommandOfARun() { EXPECT_EQ(place_.gneiss({"train", "karate", "--epochs", "2", "--out", "run"}).code, 0); }

  CommandResult on(const std::string& device, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {GetParam(), "run", "--device", device};
    if (std::string(GetParam()) != "eval") words.insert(words.end(), {"--out", "rows.csv"});
    words.insert(words.end(), more.begin(), more.end());
    return place_.gneiss(words);
  }

  Workplace place_;
};

TEST_P(CommandOfARun, IsRefusedWhereThereIsNoSuchCard) {
  const CommandResult result = on("cuda:999");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("where: --device"));
  EXPECT_FALSE(fs::exists(place_.path("rows.csv")));
}

TEST_P(CommandOfARun, TakesTheCpuByItselfWhereThereIsNoCard) {
  if (fs::exists("/dev/nvidia0")) GTEST_SKIP() << "this machine has a card";
  const CommandResult result = on("auto");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--device auto: the CPU, because "));
  EXPECT_EQ(fs::exists(place_.path("rows.csv")), std::string(GetParam()) != "eval");
}

TEST_P(CommandOfARun, IsRefusedWithTheNumbersWhereThePlanDoesNotFit) {
  const CommandResult result = on("emulated", {"--device-mem", "1K"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, ::testing::ContainsRegex("the plan takes [0-9]+ bytes of emulated device, 1024 of 1024 bytes "
                                                   "are free; the largest: [a-z]+ [0-9]+ bytes, "));
  EXPECT_FALSE(fs::exists(place_.path("rows.csv")));
}

INSTANTIATE_TEST_SUITE_P(Commands, CommandOfARun, ::testing::Values("predict", "embed", "eval"),
                         [](const auto& test) { return std::string(test.param); });

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
        Refused{{"train", "karate", "--device", "emulated", "--device-mem", "1K", "--out", "run"},
                4,
                "bytes of emulated device, 1024 of 1024 bytes are free; the largest: "},
        Refused{{"train", "karate", "--device", "emulated", "--batch-size", "8", "--out", "run"},
                2,
                "mini-batches do not run on cards yet"},
        Refused{{"train", "karate", "--device", "emulated", "--ranks", "2", "--out", "run"},
                2,
                "several ranks do not run on cards yet"},
        Refused{{"plan", "karate", "--device", "cuda", "--ranks", "2"}, 2, "several ranks do not run on cards yet"},
        Refused{{"train", "karate", "--device", "emulated", "--devices", "2", "--ranks", "2", "--out", "run"},
                2,
                "--devices does not go with --ranks"},
        Refused{{"train", "karate", "--device", "emulated", "--devices", "2", "--jit", "--out", "run"},
                2,
                "--jit does not go with --devices"},
        Refused{
            {"plan", "karate", "--device", "cuda", "--devices", "2", "--jit"}, 2, "--jit does not go with --devices"},
        Refused{{"train", "karate", "--device", "emulated", "--devices", "2", "--mem", "1G", "--out", "run"},
                2,
                "--mem does not go with --devices"},
        Refused{{"train", "karate", "--device", "emulated", "--devices", "2", "--trace", "t.json", "--out", "run"},
                2,
                "those of a card note nothing yet"},
        Refused{{"train", "karate", "--device", "emulated", "--devices", "2", "--batch-size", "8", "--out", "run"},
                2,
                "mini-batches do not run on cards yet"},
        Refused{{"train", "karate", "--device", "emulated", "--devices", "257", "--out", "run"},
                2,
                "expected at most 256 devices on cards, got 257"},
        Refused{{"train", "karate", "--device", "emulated", "--devices", "2", "--device-mem", "20K", "--out", "run"},
                4,
                "bytes of emulated device, 10240 of 10240 bytes are free; the largest: "},
        Refused{{"plan", "karate", "--device", "cuda:0", "--devices", "2", "--device-mem", "100K"},
                4,
                "the share of device 0 in NVIDIA H100 80GB as it is described, 51200 of 51200 bytes are free"},
        Refused{{"plan", "karate", "--device", "cuda", "--devices", "2", "--device-mem", "50K"},
                4,
                "the share of device 0 in NVIDIA H100 80GB as it is described, 51200 of 51200 bytes are free"},
        Refused{{"plan", "karate", "--device", "cuda:0,1"}, 2, "'cuda:0,1' names 2 cards, and one device runs on one"},
        Refused{{"plan", "karate", "--device", "cuda:0,1,2", "--devices", "2"}, 2, "3 cards are named for 2 devices"},
        Refused{{"train", "karate", "--device-mem", "1G", "--out", "run"}, 2, "and none is asked for"},
        Refused{{"plan", "karate", "--device", "cuda:x"}, 2, "there is no device 'cuda:x'"},
        Refused{{"plan", "karate", "--device", "cuda", "--device-mem", "1K"},
                4,
                "bytes of NVIDIA H100 80GB as it is described, 1024 of 1024 bytes are free; the largest: "},
        Refused{{"train", "karate", "--tensor-cores", "--out", "run"}, 2, "and none is asked for"},
        Refused{{"train", "karate", "--tensor-cores", "--batch-size", "8", "--out", "run"}, 2, "and none is asked for"},
        Refused{{"plan", "karate", "--tensor-cores"}, 2, "and none is asked for"},
        Refused{{"doctor", "--calibrate", "--device", "emulated"}, 2, "says nothing of a card"},
        Refused{{"doctor", "--calibrate", "--device", "gpu"}, 2, "there is no device 'gpu'"},
        Refused{{"doctor", "--device", "cuda"}, 2, "add --calibrate"},
        Refused{{"doctor", "--calibrate", "--device", "cuda", "--ranks", "2"}, 2, "leave one of them out"},
        Refused{{"synth", "karate", "--device", "emulated", "--out", "run"},
                2,
                "train, plan, predict, embed and eval take it"}));

/// No card is here. A build without CUDA says that; one with it tells of the driver or card that it misses: which of
/// them, where it is known, is asked in card_test.
TEST(Device, WithoutACardTheErrorIsNamed) {
  const Workplace place;
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"train", "karate", "--device", "cuda:999", "--epochs", "1"},
        {"train", "karate", "--device", "cuda:999", "--devices", "2", "--epochs", "1"},
        {"doctor", "--calibrate", "--device", "cuda:999"}}) {
    const CommandResult result = place.gneiss(command);
    EXPECT_EQ(result.code, 2);
    if (!BUILD_HAS_CUDA) {
      EXPECT_THAT(result.err, HasSubstr("error: this build of Gneiss knows no CUDA\n"));
      EXPECT_THAT(result.err, HasSubstr("build where nvcc is found, with -DGNEISS_CUDA=ON"));
      continue;
    }
    EXPECT_THAT(result.err, ::testing::AnyOf(HasSubstr("error: there is no CUDA driver on this machine\n"),
                                             HasSubstr("error: this machine has no CUDA card\n"),
                                             HasSubstr("error: there is no card cuda:999")));
  }
}

TEST(Device, AutoTakesTheCpuWhereThereIsNoCard) {
  if (fs::exists("/dev/nvidia0")) GTEST_SKIP() << "this machine has a card";
  const Workplace place;
  const CommandResult result =
      place.gneiss({"train", "karate", "--device", "auto", "--device-mem", "1G", "--epochs", "1", "--out", "run"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(Json::parse(place.read("run/report.json")).dump(), HasSubstr("--device auto: the CPU, because "));
  // Whoever goes on with the run does so on the CPU.
  EXPECT_THAT(place.read("run/config.yaml"), HasSubstr("device:\n  name: \"cpu\"\n"));
  const CommandResult again = place.gneiss({"train", "run/config.yaml", "--out", "again"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(place.read("again/model.safetensors") == place.read("run/model.safetensors"));
}

}  // namespace
}  // namespace gneiss::testing
