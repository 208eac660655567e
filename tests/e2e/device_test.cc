// Training on a device, emulated: the losses of the CPU, a run folder as always, and the same bytes after a kill.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>

#include "e2e/device_training.h"
#include "support/data_fixtures.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace gneiss::testing
