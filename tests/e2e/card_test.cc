// The command on a card that the test describes (support/test_card): a training there, and what is said of a card that
// cannot be used, has no memory left, or is lost in the middle of a training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "e2e/command.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Environment = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> training(const std::string& device, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"train", "karate",   "--model", "gcn",        "--epochs", "10",    "--seed",
                                    "3",     "--device", device,    "--patience", "0",        "--out", "run"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Card, TrainsToTheEmulationsBits) {
  const Workplace place;
  const CommandResult trained = place.gneiss(training("cuda"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const CommandResult emulated = place.gneiss(training("emulated", {"--out", "emulated"}));
  ASSERT_EQ(emulated.code, 0) << emulated.err;
  EXPECT_TRUE(place.read("run/model.safetensors") == place.read("emulated/model.safetensors"));
  EXPECT_THAT(place.read("run/report.json"), HasSubstr("trained on: test card (cuda:0), driver for CUDA 12.0, "));
  const CommandResult doctor = place.gneiss({"doctor"});
  EXPECT_THAT(doctor.out, HasSubstr("cuda:0, test card, compute capability 9.0, 1.0 GiB"));
  EXPECT_THAT(doctor.out, Not(HasSubstr("not used")));
}

/// A card that cannot be used: exit status 2 where it is asked for by name, the CPU and a note where it is not.
struct Unusable {
  const char* name;
  Environment environment;
  std::string says;
  std::string hint;
  int code = 2;
};

class UnusableCard : public ::testing::TestWithParam<Unusable> {};

TEST_P(UnusableCard, IsNamedAndAutoTakesTheCpu) {
  const Unusable& card = GetParam();
  const Workplace place;
  const CommandResult asked = place.gneiss(training("cuda"), card.environment);
  EXPECT_EQ(asked.code, card.code);
  EXPECT_THAT(asked.err, HasSubstr("error: " + card.says));
  EXPECT_THAT(asked.err, HasSubstr("hint: " + card.hint));
  EXPECT_FALSE(fs::exists(place.path("run")));
  const CommandResult by_itself = place.gneiss(training("auto"), card.environment);
  EXPECT_EQ(by_itself.code, 0) << by_itself.err;
  EXPECT_THAT(Json::parse(place.read("run/report.json")).dump(),
              HasSubstr("--device auto: the CPU, because " + card.says));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, UnusableCard,
    ::testing::Values(Unusable{"TooOld",
                               {{"TEST_CARD_CAPABILITY", "7.5"}},
                               "card 0, test card, has compute capability 7.5; 8.0 is needed",
                               "use a newer card or --device cpu"},
                      Unusable{"OfAnotherProcess",
                               {{"TEST_CARD_OPENS", "no"}},
                               "no card can be used: choosing a card fails with 'CUDA-capable device(s) is/are busy or "
                               "unavailable'",
                               "see what nvidia-smi says, or use --device cpu"},
                      Unusable{"WithADriverThatDoesNotWork",
                               {{"TEST_CARD_COUNTS", "no"}},
                               "no card can be used: counting cards fails with 'system not yet initialized'",
                               "see what nvidia-smi says, or use --device cpu"},
                      Unusable{"Full",
                               {{"TEST_CARD_FREE", "0"}},
                               "the device failed while making a stream: out of memory",
                               "end what else runs on the card",
                               4}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Card, IsSharedByThreadsAndProcessesToTheEmulationsBits) {
  const Workplace place;
  const std::vector<std::string> several = {"--devices", "2", "--exchange", "fine"};
  const auto weights = [&](const std::string& device, const std::string& out, std::vector<std::string> more) {
    more.insert(more.end(), several.begin(), several.end());
    more.insert(more.end(), {"--out", out});
    const CommandResult result = place.gneiss(training(device, more), {{"GNEISS_NVSHMEM", STAND_IN_NVSHMEM}});
    EXPECT_EQ(result.code, 0) << result.err;
    return place.read(out + "/model.safetensors");
  };
  const std::string emulated = weights("emulated", "emulated", {});
  ASSERT_FALSE(emulated.empty());
  EXPECT_TRUE(weights("cuda", "threads", {}) == emulated);
  EXPECT_TRUE(weights("cuda", "processes", {"--processes"}) == emulated);
  EXPECT_TRUE(weights("cuda", "nvshmem", {"--processes", "--peer-memory", "nvshmem"}) == emulated);
}

TEST(Card, WhoseMemoryProcessesCannotShareIsNamed) {
  const Workplace place;
  const CommandResult result =
      place.gneiss(training("cuda", {"--devices", "2", "--processes"}), {{"TEST_CARD_SHARES", "no"}});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("processes cannot share a card's memory: sharing memory fails with 'operation not "
                                    "supported'"));
  EXPECT_THAT(result.err, HasSubstr("hint: leave --processes out: devices are threads then, to the same bits"));
}

TEST(Card, DoctorSaysWhyOneIsNotUsed) {
  const Workplace place;
  EXPECT_THAT(place.gneiss({"doctor"}, {{"TEST_CARD_CAPABILITY", "7.5"}}).out,
              HasSubstr("compute capability 7.5, 1.0 GiB; not used: 8.0 is needed"));
  EXPECT_THAT(place.gneiss({"doctor"}, {{"TEST_CARD_COUNTS", "no"}}).out,
              HasSubstr("none: no card can be used: counting cards fails with 'system not yet initialized'; see what"));
}

TEST(Card, ANumberThatNoCardHasIsNamed) {
  const Workplace place;
  const CommandResult result = place.gneiss(training("cuda:3"));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("there is no card cuda:3: this machine has 1"));
}

std::int64_t planned_bytes(const Workplace& place) {
  const CommandResult planned =
      place.gneiss({"plan", "karate", "--model", "gcn", "--epochs", "10", "--device", "cuda", "--json"});
  EXPECT_EQ(planned.code, 0) << planned.err;
  return Json::parse(planned.out)["card"]["bytes"].get<std::int64_t>();
}

/// `bytes`: a regular expression.
std::string refusal(const std::string& bytes) {
  return "error: the plan takes " + bytes +
         " bytes of test card \\(cuda:0\\), 20000 of 1073741824 bytes are free; the largest: arena [0-9]+ bytes, "
         "parameters [0-9]+ bytes, gradients [0-9]+ bytes\n.*\n  hint: end what else runs on the card; or use "
         "--feature-dtype bf16, fewer hidden channels or layers, or --device cpu\n";
}

TEST(Card, APlanThatDoesNotFitIsRefusedWithTheNumbers) {
  const Workplace place;
  const CommandResult result = place.gneiss(training("cuda"), {{"TEST_CARD_FREE", "20000"}});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, ContainsRegex(refusal("[0-9]+")));
  EXPECT_FALSE(fs::exists(place.path("run")));
}

/// The plan fitted, then another process took memory before this one did: said in the same words.
TEST(Card, MemoryLostInBetweenIsRefusedWithTheNumbers) {
  const Workplace place;
  const CommandResult result = place.gneiss(training("cuda"), {{"TEST_CARD_LEFT", "20000"}});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, ContainsRegex(refusal(std::to_string(planned_bytes(place)))));
  EXPECT_FALSE(fs::exists(place.path("run")));
}

TEST(Card, ACalibrationProposesTheCpus) {
  const Workplace place;
  const CommandResult old =
      place.gneiss({"doctor", "--calibrate", "--device", "cuda"}, {{"TEST_CARD_CAPABILITY", "7.5"}});
  EXPECT_EQ(old.code, 2);
  EXPECT_THAT(old.err, HasSubstr("hint: use a newer card or --calibrate alone, which measures the CPU\n"));
  const CommandResult full = place.gneiss({"doctor", "--calibrate", "--device", "cuda"}, {{"TEST_CARD_LEFT", "1000"}});
  EXPECT_EQ(full.code, 4);
  EXPECT_THAT(full.err, HasSubstr("of 1073741824 bytes are free\n"));
  EXPECT_THAT(full.err, HasSubstr("hint: end what else runs on the card, or use --calibrate alone, which measures the "
                                  "CPU\n"));
}

/// Fails in one of its products and in everything from then on.
const Environment kLost = {{"TEST_CARD_FAULT", "40"}};
constexpr const char* kFault = "the device failed while [a-z ]+: an illegal memory access was encountered";

TEST(Card, AFaultIsToldWithItsEpoch) {
  const Workplace place;
  const CommandResult result = place.gneiss(training("cuda"), kLost);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, ContainsRegex(std::string("error: (epoch [0-9]+|evaluation): ") + kFault));
  EXPECT_THAT(
      result.err,
      HasSubstr("hint: GNEISS_DEVICE_SYNC=1 finds the kernel and the line of the model; nothing is kept of this "
                "training: no checkpoint was written, as --checkpoint-every does\n"));
  EXPECT_FALSE(fs::exists(place.path("run")));
}

TEST(Card, AFaultIsToldWithItsKernelWhereEveryOneIsWaitedFor) {
  const Workplace place;
  Environment environment = kLost;
  environment.emplace_back("GNEISS_DEVICE_SYNC", "1");
  const CommandResult result = place.gneiss(training("cuda"), environment);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, ContainsRegex(std::string("error: (epoch [0-9]+|evaluation): gemm \\(line [0-9]+ of the "
                                                    "model\\): ") +
                                        kFault));
  EXPECT_THAT(result.err, Not(HasSubstr("GNEISS_DEVICE_SYNC")));
}

TEST(Card, WhatWasKeptBeforeAFaultGoesOn) {
  const Workplace place;
  ASSERT_EQ(place.gneiss(training("cuda", {"--out", "whole"})).code, 0);
  const CommandResult lost = place.gneiss(training("cuda", {"--checkpoint-every", "1"}), kLost);
  EXPECT_EQ(lost.code, 1);
  EXPECT_THAT(lost.err, ContainsRegex("; gneiss resume [^ ]*run[^ ]* goes on from the last checkpoint\n"));
  EXPECT_THAT(lost.err, Not(HasSubstr("nothing is kept")));
  const CommandResult resumed = place.gneiss({"resume", "run"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
}

}  // namespace
}  // namespace gneiss::testing
