// The command on a card that the test describes (support/test_card): a training there, and what is said of a card that
// cannot be used, has no memory left, or is lost in the middle of a training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
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
  // Of a run that is there.
  for (const std::string command : {"predict", "embed", "eval"}) {
    SCOPED_TRACE(command);
    std::vector<std::string> words = {command, "run", "--device", "cuda"};
    if (command != "eval") words.insert(words.end(), {"--out", command + ".csv"});
    const CommandResult refused = place.gneiss(words, card.environment);
    EXPECT_EQ(refused.code, card.code);
    EXPECT_THAT(refused.err, HasSubstr("error: " + card.says));
    words[3] = "auto";
    const CommandResult done = place.gneiss(words, card.environment);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("--device auto: the CPU, because " + card.says));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, UnusableCard,
    ::testing::Values(Unusable{"WithoutADriver",
                               {{"TEST_CARD_DRIVER", "0"}},
                               "there is no CUDA driver on this machine",
                               "install NVIDIA's driver for CUDA 12.0 or use --device cpu"},
                      Unusable{"WithAnOldDriver",
                               {{"TEST_CARD_DRIVER", "11040"}},
                               "the driver is for CUDA 11.4, CUDA 12.0 is needed",
                               "update the driver or use --device cpu"},
                      Unusable{
                          "NotThere", {{"TEST_CARD_COUNT", "0"}}, "this machine has no CUDA card", "use --device cpu"},
                      Unusable{"TooOld",
                               {{"TEST_CARD_CAPABILITY", "7.5"}},
                               "card 0, test card, has compute capability 7.5; 8.0 is needed",
                               "use a newer card or --device cpu"},
                      Unusable{"OfAnotherProcess",
                               {{"TEST_CARD_OPENS", "no"}},
                               "cuda:0 cannot be used: choosing it fails with 'CUDA-capable device(s) is/are busy or "
                               "unavailable'",
                               "see what nvidia-smi says, or use --device cpu"},
                      Unusable{"WithADriverThatDoesNotWork",
                               {{"TEST_CARD_COUNTS", "no"}},
                               "no card can be used: counting cards fails with 'system not yet initialized'",
                               "see what nvidia-smi says, or use --device cpu"},
                      Unusable{"Full",
                               {{"TEST_CARD_FREE", "0"}},
                               "cuda:0 failed while making a stream: out of memory",
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
constexpr const char* kFault = "cuda:0 failed while [a-z ]+: an illegal memory access was encountered";

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

// ---- several cards -------------------------------------------------------------------------------------------------

Environment cards(const std::string& count, const Environment& more = {}) {
  Environment made = {{"TEST_CARD_COUNT", count}};
  made.insert(made.end(), more.begin(), more.end());
  return made;
}

/// Trains by `devices` devices into the folder `out`.
CommandResult train_on(const Workplace& place, const std::string& device, int devices, const std::string& out,
                       const Environment& environment, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"--devices", std::to_string(devices), "--out", out};
  words.insert(words.end(), more.begin(), more.end());
  return place.gneiss(training(device, words), environment);
}

/// The cards of the devices of a run.
std::vector<int> cards_of(const Workplace& place, const std::string& out) {
  std::vector<int> made;
  const Json report = Json::parse(place.read(out + "/report.json"));
  for (const Json& card : report["routes"]["cards"]) made.push_back(card);
  return made;
}

struct Dealt {
  const char* name;
  std::string device;
  int devices;
  std::vector<std::string> more;
  std::vector<int> cards;  ///< of four, one of which is too old
};

class SeveralCards : public ::testing::TestWithParam<Dealt> {};

/// Wherever devices are, they compute what those of the emulation do.
TEST_P(SeveralCards, TrainToTheEmulationsBits) {
  const Dealt& dealt = GetParam();
  const Workplace place;
  const Environment machine = cards("4", {{"TEST_CARD_CAPABILITY", "9.0,9.0,7.5,9.0"}});
  const CommandResult emulated = train_on(place, "emulated", dealt.devices, "emulated", {}, dealt.more);
  ASSERT_EQ(emulated.code, 0) << emulated.err;
  for (const bool processes : {false, true}) {
    SCOPED_TRACE(processes ? "processes" : "threads");
    std::vector<std::string> more = dealt.more;
    const std::string out = processes ? "processes" : "threads";
    if (processes) more.emplace_back("--processes");
    const CommandResult trained = train_on(place, dealt.device, dealt.devices, out, machine, more);
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_TRUE(place.read(out + "/model.safetensors") == place.read("emulated/model.safetensors"));
    EXPECT_EQ(cards_of(place, out), dealt.cards);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Deals, SeveralCards,
    ::testing::Values(Dealt{"OneEach", "cuda", 3, {"--exchange", "fine"}, {0, 1, 3}},
                      Dealt{"TwoOfThem", "cuda", 2, {"--exchange", "halo"}, {0, 1}},
                      Dealt{"MoreDevicesThanCards", "cuda", 4, {"--exchange", "stream"}, {0, 0, 1, 3}},
                      Dealt{"TwoEach", "cuda:3,0", 4, {"--exchange", "fine"}, {3, 3, 0, 0}},
                      Dealt{"AllOnOne", "cuda:1", 3, {"--exchange", "fine"}, {1, 1, 1}}),
    [](const auto& test) { return std::string(test.param.name); });

/// Attention and maxima read others' rows in other ways than sums do.
TEST(SeveralCards, TrainEveryModelToTheEmulationsBits) {
  const Workplace place;
  for (const std::string model : {"sage", "gin", "gat"}) {
    for (const std::string exchange : {"halo", "fine"}) {
      SCOPED_TRACE(model + " by " + exchange);
      std::vector<std::string> more = {"--model", model, "--exchange", exchange, "--epochs", "3", "--dropout", "0.3"};
      if (model == "sage") more.insert(more.end(), {"--aggr", "max"});
      ASSERT_EQ(train_on(place, "emulated", 4, "emulated", {}, more).code, 0);
      more.emplace_back("--force");
      const CommandResult trained = train_on(place, "cuda", 4, "cards", cards("4"), more);
      ASSERT_EQ(trained.code, 0) << trained.err;
      EXPECT_TRUE(place.read("cards/model.safetensors") == place.read("emulated/model.safetensors"));
      fs::remove_all(place.path("emulated"));
    }
  }
}

/// The fault that a card would have: what these tests of several cards look for can be found.
TEST(SeveralCards, FailWithoutLeaveToReadOthersAndOnTheWrongCard) {
  const Workplace place;
  const CommandResult unread =
      train_on(place, "cuda", 2, "run", cards("2", {{"TEST_CARD_FORGETS", "peers"}}), {"--exchange", "fine"});
  EXPECT_EQ(unread.code, 1);
  EXPECT_THAT(unread.err, HasSubstr("an illegal memory access was encountered"));
  EXPECT_NE(train_on(place, "cuda", 2, "run", cards("2", {{"TEST_CARD_FORGETS", "choice"}})).code, 0);
  EXPECT_FALSE(fs::exists(place.path("run")));
}

TEST(SeveralCards, TakeOfEachWhatThePlanSays) {
  const Workplace place;
  const auto check = [&](const std::string& device, int devices, const std::vector<int>& used) {
    SCOPED_TRACE(device);
    const std::string count = std::to_string(devices);
    const CommandResult planned = place.gneiss({"plan", "karate", "--model", "gcn", "--epochs", "10", "--device",
                                                device, "--devices", count, "--exchange", "fine", "--json"});
    ASSERT_EQ(planned.code, 0) << planned.err;
    const CommandResult trained =
        train_on(place, device, devices, "run", cards("4", {{"TEST_CARD_TAKEN", place.path("taken").string()}}),
                 {"--exchange", "fine", "--force"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const Json plan = Json::parse(planned.out);
    EXPECT_EQ(plan["card"]["of_device"], Json::parse(place.read("run/report.json"))["routes"]["cards"]);
    std::vector<std::int64_t> taken;
    std::istringstream lines(place.read("taken"));
    for (std::int64_t bytes = 0; lines >> bytes;) taken.push_back(bytes);
    ASSERT_EQ(taken.size(), 4U);
    std::vector<std::int64_t> want(4);
    ASSERT_EQ(plan["card"]["cards"].size(), used.size());
    for (std::size_t i = 0; i < used.size(); ++i) {
      EXPECT_EQ(plan["card"]["cards"][i]["card"], used[i]);
      want[static_cast<std::size_t>(used[i])] = plan["card"]["cards"][i]["bytes"];
    }
    EXPECT_EQ(taken, want);
  };
  check("cuda", 4, {0, 1, 2, 3});
  check("cuda:3,1", 3, {3, 1});
  check("cuda:2", 2, {2});
}

TEST(SeveralCards, ARunNamesThem) {
  const Workplace place;
  const CommandResult threads = train_on(place, "cuda", 3, "threads", cards("2"));
  ASSERT_EQ(threads.code, 0) << threads.err;
  const char* const said =
      "trained on: devices 0 and 1 on cuda:0, 2 on cuda:1, the first test card \\(cuda:0\\), driver "
      "for CUDA 12.0, [0-9.]+ MiB of their memory";
  EXPECT_THAT(place.read("threads/report.json"), ContainsRegex(said));
  ASSERT_EQ(train_on(place, "cuda", 2, "processes", cards("2"), {"--processes"}).code, 0);
  EXPECT_THAT(
      place.read("processes/report.json"),
      HasSubstr("trained on: devices 0 on cuda:0, 1 on cuda:1, each a process, the first test card (cuda:0), "));
  const CommandResult planned = place.gneiss({"plan", "karate", "--device", "cuda:0,5", "--devices", "4"});
  EXPECT_THAT(planned.out, HasSubstr("memory of 2 cards, each NVIDIA H100 80GB as it is described: devices 0 and 1 on "
                                     "cuda:0, 2 and 3 on cuda:5\n"));
  EXPECT_THAT(planned.out, HasSubstr("  all of cuda:5 "));
  EXPECT_THAT(planned.out, HasSubstr("modelled time of one card with the whole graph, by rates of "));
}

/// Rows come over another link where devices share a card.
TEST(SeveralCards, HaveNumbersOfTheTunerOfTheirOwn) {
  const Workplace place;
  const auto tunes = [&](const std::string& device, const std::string& epochs) {
    std::vector<std::string> words = {"train", "karate",   "--device", device,  "--devices", "2",      "--exchange",
                                      "fine",  "--epochs", epochs,     "--out", "run",       "--force"};
    const CommandResult trained = place.gneiss(words, cards("2"));
    EXPECT_EQ(trained.code, 0) << trained.err;
    return Json::parse(place.read("run/report.json"))["routes"].contains("tuner");
  };
  EXPECT_TRUE(tunes("cuda", "81"));
  EXPECT_TRUE(tunes("cuda:0", "1"));
  EXPECT_FALSE(tunes("cuda", "1"));
}

/// Each training of a run opens the devices anew, whose cards then read each other already.
TEST(SeveralCards, GoOnFromSplitToSplit) {
  const Workplace place;
  const std::vector<std::string> more = {"--runs", "3", "--split-per-run", "--exchange", "fine"};
  const CommandResult emulated = train_on(place, "emulated", 2, "emulated", {}, more);
  ASSERT_EQ(emulated.code, 0) << emulated.err;
  const CommandResult trained = train_on(place, "cuda", 2, "run", cards("2"), more);
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(place.read("run/model.safetensors") == place.read("emulated/model.safetensors"));
}

/// --exchange auto goes by the link between cards, and the training keeps what it came to.
TEST(SeveralCards, ATrainingOfThemGoesOnOnOne) {
  const Workplace place;
  const auto train_sparse = [&](const std::string& out, const Environment& machine, bool keeps = false) {
    std::vector<std::string> words = training("cuda", {"--devices", "2", "--out", out});
    words[1] = "dcsbm:nodes=90,degree=1,features=8,classes=2,seed=1";  // rows of others are read about once each
    if (keeps) words.insert(words.end(), {"--checkpoint-every", "1"});
    return place.gneiss(words, machine);
  };
  ASSERT_EQ(train_sparse("whole", cards("2")).code, 0);
  ASSERT_EQ(train_sparse("one", cards("1")).code, 0);
  const Json apart = Json::parse(place.read("whole/report.json"));
  EXPECT_EQ(apart["routes"]["exchange"], "fine");
  EXPECT_EQ(Json::parse(place.read("one/report.json"))["routes"]["exchange"], "halo");
  EXPECT_THAT(apart.dump(), HasSubstr("columns is the shortest so on dgx-a100)"));
  const CommandResult lost = train_sparse("run", cards("2", kLost), true);
  EXPECT_EQ(lost.code, 1);
  const CommandResult resumed = place.gneiss({"resume", "run"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(place.read("run/model.safetensors") == place.read("whole/model.safetensors"));
}

/// The first cards that can, where not all do.
TEST(SeveralCards, ThatReadEachOtherAreChosen) {
  const Workplace place;
  const Environment machine = cards("4", {{"TEST_CARD_APART", "0-1,0-2,1-2,1-3"}});
  const CommandResult trained = train_on(place, "cuda", 2, "run", machine);
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(cards_of(place, "run"), (std::vector<int>{0, 3}));
}

struct RefusedCards {
  const char* name;
  std::vector<std::string> words;
  Environment environment;
  int code;
  std::string says;
  std::string hint;
};

class CardsThatDoNotGo : public ::testing::TestWithParam<RefusedCards> {};

TEST_P(CardsThatDoNotGo, AreNamed) {
  const RefusedCards& refused = GetParam();
  const Workplace place;
  std::vector<std::vector<std::string>> trainings = {refused.words};
  trainings.push_back(refused.words);
  if (refused.words.size() > 2) trainings.back().emplace_back("--processes");  // with --devices
  for (std::vector<std::string> more : trainings) {
    const std::string device = more[0];
    more.erase(more.begin());
    const CommandResult result = place.gneiss(training(device, more), refused.environment);
    EXPECT_EQ(result.code, refused.code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(refused.says));
    EXPECT_THAT(result.err, HasSubstr("hint: " + refused.hint));
    EXPECT_FALSE(fs::exists(place.path("run")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CardsThatDoNotGo,
    ::testing::Values(
        RefusedCards{
            "Apart",
            {"cuda", "--devices", "3"},
            cards("3", {{"TEST_CARD_APART", "1-2"}, {"TEST_CARD_LEFT", "0"}}),  // before anything is taken
            2,
            "cuda:1 cannot read the memory of cuda:2, as devices on several cards do",
            "use --device cuda:1, which puts all devices on one card, fewer --devices, or name cards that can"},
        RefusedCards{"NamedAndApart",
                     {"cuda:2,0", "--devices", "2"},
                     cards("3", {{"TEST_CARD_APART", "all"}}),
                     2,
                     "cuda:2 cannot read the memory of cuda:0",
                     "use --device cuda:2"},
        RefusedCards{"NotThere",
                     {"cuda:0,4", "--devices", "2"},
                     cards("4"),
                     2,
                     "there is no card cuda:4: this machine has 4",
                     "use cuda:0 to cuda:3"},
        RefusedCards{"TooOld",
                     {"cuda:0,1", "--devices", "2"},
                     cards("2", {{"TEST_CARD_CAPABILITY", "9.0,7.5"}}),
                     2,
                     "card 1, test card, has compute capability 7.5",
                     "use a newer card"},
        RefusedCards{"AllTooOld",
                     {"cuda", "--devices", "2"},
                     cards("2", {{"TEST_CARD_CAPABILITY", "7.5"}}),
                     2,
                     "card 0, test card, has compute capability 7.5",
                     "use a newer card"},
        RefusedCards{"MoreThanDevices",
                     {"cuda:0,1,2", "--devices", "2"},
                     cards("3"),
                     2,
                     "3 cards are named for 2 devices",
                     "add --devices 3, or name fewer"},
        RefusedCards{"OfOneDevice",
                     {"cuda:0,1"},
                     cards("2"),
                     2,
                     "'cuda:0,1' names 2 cards, and one device runs on one",
                     "name one card, or train on several devices with --devices"},
        RefusedCards{"Twice",
                     {"cuda:1,1", "--devices", "2"},
                     cards("2"),
                     2,
                     "'cuda:1,1' names the card 1 twice",
                     "one of cpu, cuda"},
        RefusedCards{"NoList", {"cuda:0,", "--devices", "2"}, cards("2"), 2, "there is no device 'cuda:0,'", "one of"},
        RefusedCards{"OneFull",
                     {"cuda", "--devices", "2"},
                     cards("2", {{"TEST_CARD_FREE", "1000000000,20000"}}),
                     4,
                     "bytes of test card (cuda:1), 20000 of 20000 bytes are free; the largest: ",
                     "end what else runs on that card, or name others as --device cuda:0,2 does; or use "},
        RefusedCards{"OneFullOfTwoDevicesEach",
                     {"cuda", "--devices", "4"},
                     cards("2", {{"TEST_CARD_FREE", "1000000000,20000"}}),
                     4,
                     "bytes of test card (cuda:1), 10000 of 10000 bytes are free; the largest: ",
                     "end what else runs on that card, or name others as --device cuda:0,2 does; or use "},
        RefusedCards{"LimitOfEach",
                     {"cuda", "--devices", "4", "--device-mem", "20K"},
                     cards("2"),
                     4,
                     "bytes of test card (cuda:0), 10240 of 10240 bytes are free; the largest: ",
                     "end what else runs on that card, or name others as --device cuda:0,2 does; or use "}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace gneiss::testing
