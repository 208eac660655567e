// Devices that are processes and show their rows in NVSHMEM's heap. A stand-in for its library has memory of the host,
// so that all of the way is gone here but the library itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/command.h"

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Environment = std::vector<std::pair<std::string, std::string>>;

/// With the stand-in, which notes calls in the folder `log`.
Environment with_stand_in(const Workplace& place, const Environment& more = {}) {
  fs::create_directory(place.path("log"));
  Environment all = {{"GNEISS_NVSHMEM", STAND_IN_NVSHMEM}, {"STAND_IN_LOG", place.path("log").string()}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// What a PE called.
std::vector<std::string> calls_of(const Workplace& place, int pe) {
  std::istringstream lines(place.read("log/" + std::to_string(pe)));
  std::vector<std::string> calls;
  for (std::string line; std::getline(lines, line);) calls.push_back(line);
  return calls;
}

std::vector<std::string> training(const std::vector<std::string>& more, const std::string& devices = "2") {
  std::vector<std::string> all = {"train",    "karate",   "--model",       "gat",       "--dropout",
                                  "0.3",      "--device", "emulated",      "--devices", devices,
                                  "--epochs", "5",        "--peer-memory", "nvshmem"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

struct Bits {
  std::string name;
  std::string devices;
  std::vector<std::string> model;
};

class NvshmemBits : public ::testing::TestWithParam<Bits> {};

/// The bits of devices that are threads, and of such as open each other's memory: forward, backward and scores.
TEST_P(NvshmemBits, AreThoseOfOtherMemory) {
  const Workplace place;
  for (const std::string exchange : {"halo", "stream", "fine"}) {
    SCOPED_TRACE(exchange);
    const auto train = [&](const std::string& out, const std::vector<std::string>& more,
                           const Environment& environment) {
      std::vector<std::string> words = {"train",    "karate", "--device",   "emulated", "--devices", GetParam().devices,
                                        "--epochs", "5",      "--exchange", exchange};
      words.insert(words.end(), GetParam().model.begin(), GetParam().model.end());
      words.insert(words.end(), more.begin(), more.end());
      words.insert(words.end(), {"--out", out + exchange});
      const CommandResult result = place.gneiss(words, environment);
      EXPECT_EQ(result.code, 0) << result.err;
      return place.read(out + exchange + "/model.safetensors");
    };
    const std::string threads = train("threads-", {}, {});
    ASSERT_FALSE(threads.empty());
    EXPECT_TRUE(train("ipc-", {"--processes", "--peer-memory", "ipc"}, {}) == threads);
    EXPECT_TRUE(train("nvshmem-", {"--processes", "--peer-memory", "nvshmem"}, with_stand_in(place)) == threads);
    EXPECT_EQ(Json::parse(place.read("nvshmem-" + exchange + "/report.json"))["test"],
              Json::parse(place.read("threads-" + exchange + "/report.json"))["test"]);
    for (int pe = 0; pe < std::stoi(GetParam().devices); ++pe) {
      const std::vector<std::string> calls = calls_of(place, pe);
      ASSERT_EQ(calls.size(), 4U);
      EXPECT_EQ(calls[0], "joined " + std::to_string(pe) + " of " + GetParam().devices);
      EXPECT_EQ(calls[2], "gave back" + calls[1].substr(4));
      EXPECT_EQ(calls[3], "left");
    }
    fs::remove_all(place.path("log"));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, NvshmemBits,
                         ::testing::Values(Bits{"Gat", "2", {"--model", "gat", "--dropout", "0.3"}},
                                           Bits{"SageMax", "3", {"--model", "sage", "--aggr", "max", "--lr", "0.002"}},
                                           Bits{"Gcn", "4", {"--model", "gcn", "--dropout", "0.5"}}),
                         [](const auto& test) { return test.param.name; });

/// A plan has the block, which is as large on all devices as one of them needs it, to the byte.
TEST(Nvshmem, BytesAreInThePlan) {
  const Workplace place;
  // Parts of different sizes.
  const std::vector<std::string> common = {"dcsbm:nodes=150,degree=9,seed=5",
                                           "--model",
                                           "sage",
                                           "--device",
                                           "emulated",
                                           "--devices",
                                           "3",
                                           "--processes",
                                           "--epochs",
                                           "2"};
  const auto plan = [&](const std::string& memory) {
    std::vector<std::string> words = {"plan"};
    words.insert(words.end(), common.begin(), common.end());
    words.insert(words.end(), {"--peer-memory", memory, "--json"});
    const CommandResult result = place.gneiss(words);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out);
  };
  const Json planned = plan("nvshmem");
  const Json without = plan("ipc");
  std::int64_t block = 0;
  std::int64_t sum = 0;
  for (int d = 0; d < 3; ++d) {
    const auto own = [&](const Json& of) {
      return of["devices"]["bytes"][d].get<std::int64_t>() - of["devices"]["exchange_bytes"][d].get<std::int64_t>();
    };
    EXPECT_EQ(own(planned), own(without));
    block = std::max(block, own(without));
    sum += planned["devices"]["bytes"][d].get<std::int64_t>();
  }
  EXPECT_EQ(planned["card"]["bytes"], sum);
  EXPECT_GT(sum, without["card"]["bytes"].get<std::int64_t>());
  std::vector<std::string> words = {"train"};
  words.insert(words.end(), common.begin(), common.end());
  words.insert(words.end(), {"--peer-memory", "nvshmem", "--out", "run"});
  const CommandResult trained = place.gneiss(words, with_stand_in(place));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Json report = Json::parse(place.read("run/report.json"));
  EXPECT_EQ(report["routes"]["bytes"][0], planned["devices"]["bytes"][0]);
  EXPECT_EQ(report["routes"]["exchange_bytes"][0], planned["devices"]["exchange_bytes"][0]);
  EXPECT_THAT(report.dump(), HasSubstr("most of them in the heap of NVSHMEM 3.4.5"));
  for (int pe = 0; pe < 3; ++pe) EXPECT_EQ(calls_of(place, pe)[1], "took " + std::to_string(block));
}

/// Runs on splits of their own have blocks one after another, in one heap.
TEST(Nvshmem, IsJoinedOnceByATraining) {
  const Workplace place;
  const CommandResult result =
      place.gneiss(training({"--processes", "--runs", "2", "--split", "random", "--split-per-run", "--out", "run"}),
                   with_stand_in(place));
  ASSERT_EQ(result.code, 0) << result.err;
  for (int pe = 0; pe < 2; ++pe) {
    const std::vector<std::string> calls = calls_of(place, pe);
    ASSERT_EQ(calls.size(), 6U);
    EXPECT_THAT(calls[3], HasSubstr("took "));
    EXPECT_EQ(calls[5], "left");
  }
}

TEST(Nvshmem, IsFoundByTheLoader) {
  const Workplace place;
  const Environment paths = {{"GNEISS_NVSHMEM", ""},
                             {"LD_LIBRARY_PATH", fs::path(STAND_IN_NVSHMEM).parent_path().string()}};
  const CommandResult result = place.gneiss(training({"--processes", "--out", "run"}), with_stand_in(place, paths));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(calls_of(place, 1).size(), 4U);
}

/// A heap that somebody has made larger is taken as it is.
TEST(Nvshmem, AHeapMayBeLarger) {
  const Workplace place;
  for (const std::string size : {"64M", "0.05g", "100000000"}) {
    const CommandResult result = place.gneiss(training({"--processes", "--out", "run", "--force"}),
                                              with_stand_in(place, {{"NVSHMEM_SYMMETRIC_SIZE", size}}));
    EXPECT_EQ(result.code, 0) << size << ": " << result.err;
  }
}

struct Fault {
  std::string name;
  Environment environment;
  std::string says;
  std::string hint;
  int code = 2;
};

class NvshmemFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(NvshmemFaults, AreTold) {
  const Fault& fault = GetParam();
  const Workplace place;
  const CommandResult result =
      place.gneiss(training({"--processes", "--out", "run"}, "3"), with_stand_in(place, fault.environment));
  EXPECT_EQ(result.code, fault.code) << result.err;
  EXPECT_THAT(result.err, HasSubstr(fault.says));
  EXPECT_THAT(result.err, HasSubstr(fault.hint));
  EXPECT_FALSE(fs::exists(place.path("run")));
  // Who has joined leaves, all together.
  for (int pe = 0; pe < 3; ++pe) {
    if (!fs::exists(place.path("log/" + std::to_string(pe)))) continue;
    const std::vector<std::string> calls = calls_of(place, pe);
    EXPECT_EQ(calls.front(), "joined " + std::to_string(pe) + " of 3");
    EXPECT_THAT(calls, Not(Contains(HasSubstr("fault"))));
    if (fault.name != "IsNotReady") {
      EXPECT_EQ(calls.back(), "left");
    }
  }
}

constexpr const char* kInstead = "leave --peer-memory out: CUDA's own handles give the same bits";

INSTANTIATE_TEST_SUITE_P(
    Cases, NvshmemFaults,
    ::testing::Values(
        Fault{"IsMissing",
              {{"GNEISS_NVSHMEM", "/nowhere/libnvshmem_host.so.3"}},
              "there is no NVSHMEM (looked for /nowhere/libnvshmem_host.so.3: ",
              "install NVSHMEM 3 and name its library in the environment variable GNEISS_NVSHMEM, or "},
        Fault{
            "IsOfAnotherVersion", {{"STAND_IN_VERSION", "2.11.0"}}, "is NVSHMEM 2.11.0; version 3 is needed", kInstead},
        Fault{"LacksAFunction",
              {{"GNEISS_NVSHMEM", STAND_IN_NVSHMEM_WITHOUT_POINTERS}},
              "libnvshmem_host.so.3 has no function 'nvshmem_ptr'",
              "hint: install NVSHMEM 3, or "},
        Fault{"CannotBeJoined",
              {{"STAND_IN_STATUS", "7"}},
              "NVSHMEM 3.4.5 cannot be joined by device 0: status 7",
              "see what NVSHMEM_DEBUG=INFO says, or "},
        Fault{"IsNotReady", {{"STAND_IN_STATE", "1"}}, "NVSHMEM 3.4.5 is not ready on device 0: state 1", kInstead},
        Fault{"HasASmallHeap",
              {{"NVSHMEM_SYMMETRIC_SIZE", "1k"}},
              "bytes of NVSHMEM's symmetric heap, and NVSHMEM_SYMMETRIC_SIZE=1k",
              "or leave it unset"},
        Fault{"HasAHeapOfNoSize",
              {{"NVSHMEM_SYMMETRIC_SIZE", "much"}},
              "bytes of NVSHMEM's symmetric heap, and NVSHMEM_SYMMETRIC_SIZE=much",
              "or leave it unset"},
        Fault{"DoesNotReachAnother",
              {{"STAND_IN_HIDES", "0,2"}, {"STAND_IN_LEAVES", "1"}},
              "device 0 does not reach the memory of device 2: NVSHMEM joins them by a network alone",
              "use cards that NVLink or PCIe joins"}),
    [](const auto& test) { return test.param.name; });

/// Nothing of it is needed where it is not asked for.
TEST(Nvshmem, IsLoadedWhereItIsAskedForAlone) {
  const Workplace place;
  std::vector<std::string> words = training({"--processes", "--out", "run"});
  words[static_cast<std::size_t>(std::find(words.begin(), words.end(), "nvshmem") - words.begin())] = "ipc";
  const CommandResult result = place.gneiss(words, {{"GNEISS_NVSHMEM", "/nowhere"}});
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST(Nvshmem, IsForProcessesOnCards) {
  const Workplace place;
  const auto expect = [&](const std::vector<std::string>& words, const std::string& says, const std::string& hint) {
    for (const std::string command : {"train", "plan"}) {
      std::vector<std::string> all = words;
      all[0] = command;
      const CommandResult result = place.gneiss(all, with_stand_in(place));
      EXPECT_EQ(result.code, 2) << command;
      EXPECT_THAT(result.err, HasSubstr(says)) << command;
      EXPECT_THAT(result.err, HasSubstr("hint: " + hint)) << command;
    }
  };
  expect(training({}), "--peer-memory nvshmem is between processes, and devices are threads of one",
         "add --processes, or leave it out");
  expect({"train", "karate", "--devices", "2", "--processes", "--peer-memory", "nvshmem", "--device", "cpu"},
         "--peer-memory nvshmem is for the memory of cards; virtual devices of the CPU share the host's",
         "add --device cuda, or leave it out");
  expect({"train", "karate", "--devices", "2", "--processes", "--peer-memory", "nvshmem", "--batch-size", "8"},
         "--peer-memory nvshmem is for the memory of cards", "leave it out");
}

/// An error of all in the middle of a training: NVSHMEM is left as it should be.
TEST(Nvshmem, IsLeftAfterAnError) {
  const Workplace place;
  const CommandResult result = place.gneiss(training({"--processes", "--lr", "1e30", "--epochs", "50", "--out", "run"}),
                                            with_stand_in(place, {{"STAND_IN_LEAVES", "1"}}));
  EXPECT_EQ(result.code, 5) << result.err;
  EXPECT_THAT(result.err, HasSubstr("loss is "));
  for (int pe = 0; pe < 2; ++pe) EXPECT_EQ(calls_of(place, pe).back(), "left");
}

/// One process is killed: the others do not wait for it in NVSHMEM.
TEST(Nvshmem, AKilledProcessEndsTheTraining) {
  const Workplace place;
  std::vector<std::string> words = training({"--processes", "--out", "run", "--eval-every", "1000000"}, "3");
  words[static_cast<std::size_t>(std::find(words.begin(), words.end(), "--epochs") - words.begin()) + 1] = "1000000";
  const CommandResult result = place.gneiss_with_killed_child(words, with_stand_in(place));
  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("of 3 is lost: its process ended"));
  EXPECT_THAT(place.list(), Not(Contains("run")));
  for (int pe = 0; pe < 3; ++pe) EXPECT_THAT(calls_of(place, pe), Not(Contains("left")));
}

}  // namespace
}  // namespace gneiss::testing
