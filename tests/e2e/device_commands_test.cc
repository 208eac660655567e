// What is said of a device: plans for a card that is not there, what reads a run on one, and what is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iomanip>
#include <sstream>

#include "e2e/device_training.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

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
  EXPECT_THAT(result.err, HasSubstr("use --device cpu"));
  EXPECT_THAT(result.err, ::testing::Not(HasSubstr("channels")));
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
