// gneiss resume after kill -9, signals, a full disk; and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "e2e/command.h"
#include "support/allocation_counter.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> list;
  for (std::string word; in >> word;) list.push_back(word);
  return list;
}

/// Metrics without what a clock said.
std::string metrics(const Workplace& place, const std::string& run) {
  std::string lines;
  std::istringstream text(place.read(run + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    Json json = Json::parse(line);
    json.erase("seconds");
    json.erase("eval_seconds");
    lines += json.dump() + "\n";
  }
  return lines;
}

void expect_the_same(const Workplace& place, const std::string& run, const std::string& whole) {
  EXPECT_EQ(place.read(run + "/model.safetensors"), place.read(whole + "/model.safetensors"));
  EXPECT_EQ(metrics(place, run), metrics(place, whole));
  const Json a = Json::parse(place.read(run + "/report.json"));
  const Json b = Json::parse(place.read(whole + "/report.json"));
  for (const char* key : {"test", "val", "train", "losses", "best_epoch", "saved_run", "interrupted"})
    EXPECT_EQ(a[key], b[key]) << key;
}

struct Training {
  const char* name;
  const char* command;
};

class Killed : public ::testing::TestWithParam<Training> {};

// Trainings are killed at twenty random moments, many of them again while they go on, and end as the undisturbed one.
TEST_P(Killed, AtAnyMomentItGoesOnToTheSameBytes) {
  const Workplace place;
  const std::string command = GetParam().command;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(place.gneiss(words(command + " --out whole")).code, 0);
  const std::chrono::duration<double, std::micro> whole = std::chrono::steady_clock::now() - start;
  std::mt19937 random(7);
  std::uniform_int_distribution<int> moment(0, static_cast<int>(0.7 * whole.count()));
  int killed = 0;
  for (int i = 0; i < 60 && killed < 20; ++i) {
    SCOPED_TRACE(i);
    const std::string run = "run" + std::to_string(i);
    const auto later = [&] { return std::chrono::microseconds(moment(random)); };
    CommandResult result = place.gneiss_killed(words(command + " --out " + run), later());
    for (int again = 0; again < 2 && result.code != 0; ++again) {
      ASSERT_EQ(result.code, 128 + 9) << result.err;
      ++killed;
      result = place.gneiss_killed(words("resume " + run + " --threads " + std::to_string(1 + again)), later());
    }
    if (result.code != 0) result = place.gneiss(words("resume " + run));
    ASSERT_EQ(result.code, 0) << result.err;
    expect_the_same(place, run, "whole");
    fs::remove_all(place.path(run));
  }
  EXPECT_GE(killed, 20) << "too quick to be killed";
  EXPECT_EQ(place.list(), std::vector<std::string>{"whole"});
}

INSTANTIATE_TEST_SUITE_P(
    Trainings, Killed,
    ::testing::Values(
        Training{"full_graph",
                 "train karate --model gat --epochs 40 --runs 2 --threads 1 --patience 0 --lr-schedule cosine "
                 "--checkpoint-every 1"},
        Training{"batches",
                 "train dcsbm:nodes=400,features=16,seed=3 --model sage --norm batch --epochs 4 --batch-size 4 "
                 "--fanout 4,3 --threads 1 --patience 0 --checkpoint-every 3"},
        Training{"batches_of_two_routes",
                 "train dcsbm:nodes=400,features=16,seed=3 --model gcn --epochs 4 --batch-size 4 --fanout 4,3 "
                 "--threads 1 --patience 0 --checkpoint-every 3 --device sim:uk-sage-b"},
        Training{"batches_on_threads",
                 "train dcsbm:nodes=400,features=16,seed=3 --model gcn --epochs 4 --batch-size 4 --fanout 4,3 "
                 "--threads 1 --patience 0 --checkpoint-every 3 --device host:tw-sage-b --schedule coinflip:0.5"}),
    [](const auto& test) { return test.param.name; });

/// Names in a run folder, sorted.
std::vector<std::string> names_in(const Workplace& place, const std::string& run) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(place.path(run))) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// One training by one rank and one by two, killed while each piece of a checkpoint is half written: the checkpoint
// before it counts, and what was being written is gone at the end.
TEST(KilledInACheckpoint, ItGoesOnToTheSameBytes) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "no library is preloaded under a sanitizer";
  const Workplace place;
  for (const char* ranks : {"1", "2"}) {
    SCOPED_TRACE(std::string(ranks) + " ranks");
    const std::string command =
        "train karate --model gcn --epochs 8 --threads 2 --patience 0 --checkpoint-every 1 --ranks " +
        std::string(ranks);
    const std::string whole = std::string("whole") + ranks;
    ASSERT_EQ(place.gneiss(words(command + " --out " + whole)).code, 0);
    for (int write = 12; write < 20; ++write) {
      SCOPED_TRACE(write);
      const CommandResult killed = place.gneiss(
          words(command + " --out run"),
          {{"LD_PRELOAD", GNEISS_FAIL_NTH}, {"KILL_FILE", "checkpoint.bin"}, {"KILL_WRITE", std::to_string(write)}});
      ASSERT_EQ(killed.code, 128 + 9) << killed.err;
      const CommandResult resumed = place.gneiss(words("resume run"));
      ASSERT_EQ(resumed.code, 0) << resumed.err;
      expect_the_same(place, "run", whole);
      EXPECT_EQ(names_in(place, "run"), names_in(place, whole));
      fs::remove_all(place.path("run"));
    }
  }
  EXPECT_EQ(place.list(), (std::vector<std::string>{"whole1", "whole2"}));
}

TEST(Stopped, ASignalLeavesACheckpointAndResumeGoesOn) {
  for (const char* batches : {"", " --batch-size 8 --fanout 3,3", " --batch-size 8 --fanout 3,3 --device sim:uk-gcn-b",
                              " --batch-size 8 --fanout 3,3 --device host:tw-sage-b"}) {
    const Workplace place;
    const std::string command =
        std::string("train dcsbm:nodes=300,seed=2 --model gcn --epochs 200 --patience 0 --threads 1") + batches;
    ASSERT_EQ(place.gneiss(words(command + " --out whole")).code, 0);
    const CommandResult stopped = place.gneiss_with_signal(words(command + " --out run"), SIGTERM);
    ASSERT_EQ(stopped.code, 75) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("gneiss resume " + place.path("run").string() + " goes on"));
    EXPECT_EQ(place.gneiss(words("eval run")).code, 0) << "the weights so far are there";
    const CommandResult resumed = place.gneiss(words("resume run --json"));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(Json::parse(resumed.out)["interrupted"], false);
    expect_the_same(place, "run", "whole");
  }
}

TEST(Resuming, ACompleteTrainingIsSaidToBe) {
  const Workplace place;
  ASSERT_EQ(place.gneiss(words("train karate --epochs 3 --out run")).code, 0);
  const CommandResult text = place.gneiss(words("resume run"));
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("the training in run is complete"));
  EXPECT_EQ(place.gneiss(words("resume run --json")).out, place.read("run/report.json"));
  const CommandResult second =
      place.gneiss(words("resume run"), {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.out, "") << "of the processes that mpirun started the first says it";
}

std::string partial(const Workplace& place) {
  for (const std::string& name : place.list())
    if (name.starts_with("run.partial-")) return name;
  return "none";
}

/// A killed training of karate with a checkpoint that knows some epochs, at `run`.
void leave_unfinished(const Workplace& place, const std::string& more = {},
                      const std::function<void()>& meanwhile = {}) {
  const auto until_epochs_are_known = [&] {
    constexpr std::size_t kFiveLines = 1000;
    for (int i = 0; i < 60000 && place.read(partial(place) + "/metrics.jsonl").size() < kFiveLines; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (meanwhile) meanwhile();
  };
  const CommandResult killed = place.gneiss_killed(
      words("train karate --model gcn --epochs 1000000 --patience 0 --checkpoint-every 1 --out run" + more),
      std::chrono::milliseconds(1), until_epochs_are_known);
  ASSERT_EQ(killed.code, 128 + 9) << killed.err;
}

void expect_refused(const Workplace& place, const std::string& command, int code, const std::string& message) {
  const CommandResult result = place.gneiss(words(command));
  EXPECT_EQ(result.code, code) << command << "\n" << result.err;
  EXPECT_THAT(result.err, HasSubstr(message));
  EXPECT_THAT(result.err, HasSubstr("hint: "));
}

TEST(Resuming, WithoutACheckpointIsRefused) {
  const Workplace place;
  expect_refused(place, "resume nothing", 3, "there is no training here to go on with");
  fs::create_directories(place.path("run.partial-17"));
  expect_refused(place, "resume run", 3, "the training has no checkpoint to go on from");
  expect_refused(place, "resume run.partial-17", 3, "the training has no checkpoint to go on from");
}

TEST(Resuming, SettingsThatChangeTheResultAreRefused) {
  const Workplace place;
  leave_unfinished(place);
  expect_refused(place, "resume run --lr 0.1", 2, "a resumed training keeps its settings, '--lr' cannot be given");
  expect_refused(place, "resume run --no-residual", 2, "'--no-residual' cannot be given");
  expect_refused(place, "resume run --model-arg a=1", 2, "'--model-arg' cannot be given");
  expect_refused(place, "resume run --epoch 5", 2, "unknown option '--epoch'");
  expect_refused(place, "resume run --checkpoint-every often", 2, "expected a number of epochs or mini-batches");
}

TEST(Resuming, ADamagedCheckpointIsRefused) {
  const Workplace place;
  leave_unfinished(place);
  const std::string file = partial(place) + "/checkpoint.bin";
  const std::string good = place.read(file);
  place.write(file, good.substr(0, good.size() / 2));
  expect_refused(place, "resume run", 3, "it should have");
  std::string other = good;
  other[8] = 9;
  place.write(file, other);
  expect_refused(place, "resume run", 3, "a checkpoint of format 9");
  place.write(file, good);
  const std::string lines = partial(place) + "/metrics.jsonl";
  const std::string metrics = place.read(lines);
  place.write(lines, "x" + metrics);
  expect_refused(place, "resume run", 3, "are not the lines that the checkpoint knows");
  EXPECT_TRUE(place.read(file) == good) << "a refusal harms nothing";
}

TEST(Resuming, OtherDataAndModelsAreRefused) {
  const Workplace place;
  leave_unfinished(place);
  expect_refused(place, "resume run --data dcsbm:nodes=34,seed=1", 3, "the data are others");
  const Workplace own;
  ASSERT_EQ(own.gneiss(words("train karate --epochs 1 --out first")).code, 0);
  own.write("mine.gneiss", own.read("first/model.gneiss"));
  ASSERT_EQ(own.gneiss(words("data generate dcsbm:nodes=60,seed=1 --out set")).code, 0);
  const CommandResult killed = own.gneiss_killed(
      words("train set --model mine.gneiss --epochs 1000000 --patience 0 --checkpoint-every 1 --out run"),
      std::chrono::milliseconds(1));
  ASSERT_EQ(killed.code, 128 + 9) << killed.err;
  fs::rename(own.path("set"), own.path("moved"));
  EXPECT_EQ(own.gneiss(words("resume run")).code, 3);
  const CommandResult moved = own.gneiss_killed(words("resume run --data moved"), std::chrono::milliseconds(1));
  EXPECT_EQ(moved.code, 128 + 9) << moved.err;
  own.write("mine.gneiss", own.read("first/model.gneiss") + "\n// of today\n");
  expect_refused(own, "resume run --data moved", 3, "the model's text is another one than when the training began");
}

TEST(Resuming, WhatStillRunsIsLeftAlone) {
  const Workplace place;
  leave_unfinished(place, "", [&] {
    const Workplace here;  // the output of the one under way is not to be lost
    const CommandResult second = here.gneiss({"resume", place.path("run").string()});
    EXPECT_EQ(second.code, 2);
    EXPECT_THAT(second.err, HasSubstr("still running in another process"));
  });
}

TEST(Resuming, ANewTrainingSaysThatThereIsAnUnfinishedOne) {
  const Workplace place;
  leave_unfinished(place);
  const CommandResult other = place.gneiss(words("train karate --epochs 2 --out run"));
  EXPECT_EQ(other.code, 0);
  EXPECT_THAT(other.err, HasSubstr("an unfinished training lies beside the new run folder; gneiss resume"));
  const CommandResult complete = place.gneiss(words("resume run"));
  EXPECT_THAT(complete.out, HasSubstr("the training in run is complete"));
  EXPECT_THAT(complete.err, HasSubstr("an unfinished training lies beside this one"));
  expect_refused(place, "resume " + partial(place), 2, "something else stands where the run folder is to be");
}

TEST(Checkpoints, AreRefusedWhereTheyDoNotStand) {
  const Workplace place;
  expect_refused(place, "train karate --checkpoint-every 5 --no-save", 2, "--no-save asks for none");
  for (const char* wrong : {"-1", "5x", "m", "0s", "nan", "1.5"})
    expect_refused(place, std::string("train karate --checkpoint-every ") + wrong, 2, "--checkpoint-every");
  EXPECT_TRUE(place.list().empty());
}

class FullDisk : public ::testing::TestWithParam<Training> {};

// At every step towards a file the disk is full once: the training goes on, or ends with a message and can go on.
TEST_P(FullDisk, LosesNothing) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "no library is preloaded under a sanitizer";
  const Workplace place;
  const std::string train = std::string(GetParam().command) + " --patience 0 --threads 1 --out ";
  const auto failing = [&](const std::string& command, long n) {
    return place.gneiss(words(command), {{"LD_PRELOAD", GNEISS_FAIL_NTH},
                                         {"TMPDIR", place.path("").string()},
                                         {"FAIL_DISK", std::to_string(n)},
                                         {"FAIL_REPORT", place.path(".report").string()}});
  };
  ASSERT_EQ(failing(train + "whole", 0).code, 0);
  std::istringstream report(place.read(".report"));
  long allocations = 0;
  long count = 0;
  ASSERT_TRUE(report >> allocations >> count);
  int warned = 0;
  int went_on = 0;
  for (long n = 1; n <= count; ++n) {
    SCOPED_TRACE(n);
    const CommandResult result = failing(train + "run", n);
    if (result.code == 0) {
      EXPECT_THAT(result.err, HasSubstr("warning: no checkpoint could be kept"));
      ++warned;
    } else if (partial(place) != "none") {
      EXPECT_EQ(result.code, 4) << result.err;
      EXPECT_THAT(result.err, HasSubstr("goes on from the last checkpoint"));
      ASSERT_EQ(place.gneiss(words("resume run")).code, 0);
      ++went_on;
    } else {
      EXPECT_EQ(result.code, 4) << result.err;
    }
    if (fs::exists(place.path("run"))) expect_the_same(place, "run", "whole");
    fs::remove_all(place.path("run"));
    EXPECT_EQ(partial(place), "none");
  }
  EXPECT_GE(warned, 4);
  EXPECT_GE(went_on, 4);
}

INSTANTIATE_TEST_SUITE_P(Trainings, FullDisk,
                         ::testing::Values(Training{"full_graph",
                                                    "train karate --model gcn --epochs 2 --checkpoint-every 1"},
                                           Training{"batches",
                                                    "train karate --model gcn --epochs 2 --batch-size 2 --fanout 3,2 "
                                                    "--checkpoint-every 1"}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gneiss::testing
