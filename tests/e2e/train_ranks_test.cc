// Training on ranks through the command: what rank 0 prints and writes, real data, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "e2e/command.h"
#include "support/allocation_counter.h"
#include "support/data_fixtures.h"

namespace gneiss::testing {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kGraph = "dcsbm:nodes=2000,classes=4,seed=5";

Json train(const Workplace& place, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"train"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.emplace_back("--json");
  const CommandResult result = place.gneiss(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  return Json::parse(result.out);
}

std::vector<double> losses(const Json& report) { return report["losses"][0].get<std::vector<double>>(); }

void expect_same_losses(const Json& got, const Json& expected) {
  const std::vector<double> a = losses(got);
  const std::vector<double> b = losses(expected);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t e = 0; e < a.size(); ++e) EXPECT_NEAR(a[e], b[e], 1e-5 * std::abs(b[e])) << "epoch " << e;
}

TEST(Ranks, TrainAsOneRankDoes) {
  const Workplace place;
  for (const char* model : {"sage", "gat"}) {
    // Adam makes steps of gradients that are rounding alone; so does another order of the nodes on one rank.
    const std::vector<std::string> common = {kGraph,        "--model", model,  "--epochs", "20",
                                             "--optimizer", "sgd",     "--lr", "0.3",      "--no-save"};
    std::vector<std::string> together = common;
    together.insert(together.end(), {"--ranks", "3"});
    const Json alone = train(place, common);
    const Json report = train(place, together);
    expect_same_losses(report, alone);
    EXPECT_EQ(report["test"]["accuracy"], alone["test"]["accuracy"]) << model;
  }
}

/// Attention waits for all rows, and a note says so.
TEST(Ranks, SumOwnEdgesFirstWhereAskedTo) {
  const Workplace place;
  for (const char* model : {"sage", "gat"}) {
    const std::vector<std::string> common = {kGraph,        "--model", model,  "--epochs", "10",
                                             "--optimizer", "sgd",     "--lr", "0.3",      "--no-save"};
    std::vector<std::string> together = common;
    together.insert(together.end(), {"--ranks", "3", "--exchange", "stream"});
    const Json report = train(place, together);
    expect_same_losses(report, train(place, common));
    EXPECT_EQ(train(place, together)["losses"], report["losses"]);
    const bool waits = report["notes"].dump().find("not by stream: rows that attention reads") != std::string::npos;
    EXPECT_EQ(waits, std::string(model) == "gat") << report["notes"];
  }
}

/// A score that no sum over the parts would give.
TEST(Ranks, TakeRocAucOfAllNodes) {
  const Workplace place;
  const std::vector<std::string> common = {"dcsbm:nodes=1000,classes=2,seed=3",
                                           "--metric",
                                           "rocauc",
                                           "--epochs",
                                           "10",
                                           "--optimizer",
                                           "sgd",
                                           "--no-save",
                                           "--lr",
                                           "0.3"};
  std::vector<std::string> together = common;
  together.insert(together.end(), {"--ranks", "3"});
  const Json alone = train(place, common);
  const Json report = train(place, together);
  expect_same_losses(report, alone);
  EXPECT_EQ(report["test"]["rocauc"], alone["test"]["rocauc"]);
}

TEST(Ranks, ReachTheAccuracyOfOneRankOnCora) {
  const std::optional<std::filesystem::path> cora = real_data("planetoid_cora");
  if (!cora) GTEST_SKIP() << "no real data: set GNEISS_DATA to the folder of planetoid_cora/";
  const Workplace place;
  const std::vector<std::string> common = {cora->string(), "--epochs", "20", "--no-save"};
  std::vector<std::string> together = common;
  together.insert(together.end(), {"--ranks", "4"});
  const Json alone = train(place, common);
  const Json report = train(place, together);
  expect_same_losses(report, alone);
  EXPECT_EQ(report["test"]["accuracy"], alone["test"]["accuracy"]);
}

TEST(Partition, AFolderKeepsItsPartsAndNodesTheirNames) {
  const Workplace place;
  const CommandResult cut =
      place.gneiss({"data", "partition", kGraph, "--parts", "3", "--method", "stream", "--out", "parts", "--json"});
  ASSERT_EQ(cut.code, 0) << cut.err;
  const Json report = Json::parse(cut.out);
  EXPECT_EQ(report["method"], "stream");
  EXPECT_EQ(report["cuts"][0]["halo_bytes"].size(), 3U);
  EXPECT_FALSE(report["cuts"][0].contains("objective"));
  EXPECT_THAT(report["rates"].get<std::string>(), HasSubstr("rates of"));

  const std::vector<std::string> common = {"--model", "gcn",  "--epochs", "20",      "--optimizer",
                                           "sgd",     "--lr", "0.3",      "--split", "public"};
  const auto run = [&](const std::string& data, std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    more.insert(more.begin(), data);
    return train(place, more);
  };
  const Json alone = run(kGraph, {"--out", "alone"});
  const Json together = run("parts", {"--ranks", "3", "--out", "together"});
  expect_same_losses(together, alone);
  EXPECT_THAT(together["notes"].dump(), HasSubstr("parts of the data set"));
  const Json normed = run("parts", {"--ranks", "3", "--no-save", "--normalize-features", "standard"});
  expect_same_losses(normed, run(kGraph, {"--no-save", "--normalize-features", "standard"}));
  EXPECT_THAT(normed["notes"].dump(), HasSubstr("--normalize-features looks at all edges or features"));
  const Json moved = run("parts", {"--ranks", "3", "--no-save", "--reorder", "degree"});
  expect_same_losses(moved, alone);
  EXPECT_THAT(moved["notes"].dump(), HasSubstr("--reorder moves all edges and features"));
  EXPECT_THAT(run(kGraph, {"--ranks", "3", "--partition", "degree", "--no-save"})["notes"].dump(),
              HasSubstr("parts by degree"));
  // Predictions name nodes as the data did before they were cut.
  const CommandResult first = place.gneiss({"predict", "alone", "--out", "alone.csv"});
  ASSERT_EQ(first.code, 0) << first.err;
  const CommandResult second = place.gneiss({"predict", "together", "--out", "together.csv"});
  ASSERT_EQ(second.code, 0) << second.err;
  const auto classes = [&](const std::string& name) {
    std::map<std::string, std::string> made;
    std::istringstream lines(place.read(name));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t comma = line.find(',');
      made[line.substr(0, comma)] = line.substr(comma + 1, line.find(',', comma + 1) - comma - 1);
    }
    return made;
  };
  EXPECT_EQ(classes("together.csv"), classes("alone.csv"));
}

/// A folder of 80 MB is cut within 32 MiB, to the same bytes as in memory.
TEST(Partition, WithinAMemoryLimitEdgesAndFeaturesStayInTheirFiles) {
  constexpr std::int64_t kLimit = std::int64_t{32} << 20;
  const Workplace place;
  ASSERT_EQ(place
                .gneiss({"data", "generate", "dcsbm:nodes=30000,edges=8000000,classes=4,features=400,seed=5", "--out",
                         "graph"})
                .code,
            0);
  std::int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place.path("graph")))
    bytes += static_cast<std::int64_t>(entry.file_size());
  EXPECT_GT(bytes, 2 * kLimit);
  const std::vector<std::string> common = {"data", "partition", "graph", "--parts", "4", "--method", "stream"};
  const auto cut = [&](const std::string& out, std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    more.insert(more.end(), {"--out", out});
    const CommandResult result = place.gneiss(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return result;
  };
  const CommandResult in_memory = cut("from_memory", {});
  const CommandResult in_files = cut("from_files", {"--mem", std::to_string(kLimit)});
  if (kAllocationsAreCounted) {
    EXPECT_GT(in_memory.peak_bytes, kLimit) << "the limit is none";
    EXPECT_LT(in_files.peak_bytes, kLimit);
  }
  for (const auto& entry : std::filesystem::directory_iterator(place.path("from_memory"))) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(place.read("from_files/" + name) == place.read("from_memory/" + name)) << name;
  }
  const CommandResult little = place.gneiss({"data", "partition", "graph", "--mem", "1M"});
  EXPECT_EQ(little.code, 4);
  EXPECT_THAT(little.err, HasSubstr("to cut 30000 nodes into 2 parts takes"));
  const CommandResult metis = place.gneiss({"data", "partition", "graph", "--mem", "1G", "--method", "metis"});
  EXPECT_EQ(metis.code, 2);
  EXPECT_THAT(metis.err, HasSubstr("use contiguous, stream or degree"));
  const CommandResult generated = place.gneiss({"data", "partition", kGraph, "--mem", "1G"});
  EXPECT_EQ(generated.code, 2);
  EXPECT_THAT(generated.err, HasSubstr("within --mem a Gneiss folder is cut"));
}

TEST(Partition, AutoSaysWhatItCouldNotTry) {
  const Workplace place;
  const std::vector<std::string> arguments = {"train",    kGraph, "--ranks",   "2",       "--partition", "auto",
                                              "--epochs", "2",    "--no-save", "--quiet", "--json"};
  const auto notes = [&](const CommandResult& result) {
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out)["notes"].dump();
  };
  const std::string components = "components: one component has 100.0 % of all work";
  EXPECT_THAT(notes(place.gneiss(arguments)), HasSubstr(components));
  // A file that is no library stands before the real one.
  place.write("libmetis.so.5", "");
  const std::vector<std::pair<std::string, std::string>> without = {{"LD_LIBRARY_PATH", place.path("").string()}};
  const std::string text = notes(place.gneiss(arguments, without));
  EXPECT_THAT(text, HasSubstr("(auto)"));
  EXPECT_THAT(text, HasSubstr("--partition auto could not take metis: libmetis (version 5, 32-bit ids) is not"));
  EXPECT_THAT(text, HasSubstr(components));
  const CommandResult asked = place.gneiss({"data", "partition", kGraph, "--method", "metis"}, without);
  EXPECT_EQ(asked.code, 2);
  EXPECT_THAT(asked.err, HasSubstr("install it"));
}

TEST(Partition, FaultsAreNamed) {
  const Workplace place;
  const std::vector<std::pair<std::vector<std::string>, std::string>> faults = {
      {{"--parts", "0"}, "expected 1 to 1024 parts, got 0"},
      {{"--parts", "4294967298"}, "expected 1 to 1024 parts, got 4294967298"},
      {{"--method", "metes"}, "unknown way to cut a graph 'metes'"},
      {{"--network", "fast"}, "'fast' is no network"},
      {{"--columns", "0"}, "--columns: expected at least 1, got 0"},
  };
  for (const auto& [options, message] : faults) {
    std::vector<std::string> arguments = {"data", "partition", "karate"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const CommandResult result = place.gneiss(arguments);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
}

TEST(Devices, TrainAsOneDoes) {
  const Workplace place;
  const std::vector<std::string> common = {kGraph,        "--model", "gcn",  "--epochs", "20",
                                           "--optimizer", "sgd",     "--lr", "0.3",      "--no-save"};
  std::vector<std::string> together = common;
  together.insert(together.end(), {"--devices", "4"});
  const Json report = train(place, together);
  expect_same_losses(report, train(place, common));
  EXPECT_THAT(report["notes"].dump(), HasSubstr("4 devices"));
}

std::int64_t sum_of(const Json& lists) {
  std::int64_t sum = 0;
  for (const Json& list : lists) {
    for (const Json& number : list) sum += number.get<std::int64_t>();
  }
  return sum;
}

/// Whatever the exchange: the losses of one device, the bytes of the plan, and the bits of threads on processes.
TEST(Devices, TakeUpRowsByEachExchange) {
  const Workplace place;
  const std::vector<std::string> common = {kGraph, "--model", "sage",        "--epochs", "4",
                                           "--lr", "0.3",     "--optimizer", "sgd",      "--no-save"};
  const Json alone = train(place, common);
  for (const char* how : {"halo", "stream", "fine"}) {
    SCOPED_TRACE(how);
    std::vector<std::string> together = common;
    together.insert(together.end(), {"--devices", "3", "--exchange", how});
    const Json report = train(place, together);
    expect_same_losses(report, alone);
    EXPECT_EQ(report["routes"]["exchange"], how);
    const CommandResult plan = place.gneiss({"plan", kGraph, "--model", "sage", "--epochs", "4", "--optimizer", "sgd",
                                             "--devices", "3", "--exchange", how, "--json"});
    ASSERT_EQ(plan.code, 0) << plan.err;
    const Json planned = Json::parse(plan.out)["devices"];
    EXPECT_EQ(planned["trains_by"], how);
    for (std::size_t device = 0; device < 3; ++device) {
      const Json& phases = planned["fetched_bytes"][device];
      for (std::size_t from = 0; from < 3; ++from) {
        const auto of = [&](const char* phase) { return phases[phase][from].get<std::int64_t>(); };
        EXPECT_EQ(report["routes"]["fetched_bytes"][device][from].get<std::int64_t>(),
                  of("setup") + 4 * (of("forward") + of("backward") + of("inference")))
            << "device " << device << " from " << from;
      }
    }
    EXPECT_GT(sum_of(report["routes"]["fetched_bytes"]), 0);
    EXPECT_EQ(report["routes"]["bytes"], planned["bytes"]) << "memory";
    EXPECT_EQ(report["routes"]["exchange_bytes"], planned["exchange_bytes"]);
    EXPECT_EQ(planned["exchange_bytes"][0].get<std::int64_t>() > 0, how != std::string("halo"));
    together.emplace_back("--processes");
    const Json processes = train(place, together);
    EXPECT_EQ(processes["losses"], report["losses"]);
    EXPECT_EQ(processes["test"], report["test"]);
    EXPECT_TRUE(processes["routes"]["processes"].get<bool>());
    EXPECT_EQ(processes["routes"]["fetched_bytes"][0], report["routes"]["fetched_bytes"][0]);
  }
  const Json named = train(place, {kGraph, "--devices", "2", "--machine", "dgx-a100", "--epochs", "1", "--no-save"});
  EXPECT_EQ(named["routes"]["exchange"], "stream") << "auto, by the links of that machine";
  const Json here = train(place, {kGraph, "--devices", "2", "--epochs", "1", "--no-save"});
  EXPECT_EQ(here["routes"]["exchange"], "halo") << "auto, where nothing hides";
}

/// The tuner ends within 16 settings of five timings each, changes no result, and its numbers are kept for the next
/// training of the kind, whose plan knows them.
TEST(Devices, TuneTheirNumbersOnce) {
  const Workplace place;
  const auto run = [&](const char* how) {
    return train(place, {kGraph, "--devices", "2", "--exchange", how, "--epochs", "81", "--no-save"});
  };
  const Json first = run("fine");
  ASSERT_TRUE(first["routes"]["tuner"]["done"].get<bool>());
  EXPECT_LE(first["routes"]["tuner"]["trials"].get<int>(), 16);
  EXPECT_EQ(first["losses"], run("stream")["losses"]) << "numbers of the tuner change no bit";
  const Json second = run("fine");
  EXPECT_FALSE(second["routes"].contains("tuner")) << "they are kept";
  EXPECT_EQ(second["losses"], first["losses"]);
  EXPECT_THAT(second["notes"].dump(), HasSubstr("with numbers of the tuner from an earlier training"));
  const CommandResult plan =
      place.gneiss({"plan", kGraph, "--devices", "2", "--exchange", "fine", "--epochs", "81", "--json"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  const Json phases = Json::parse(plan.out)["devices"]["fetched_bytes"][0];
  const auto of = [&](const char* phase) { return phases[phase][1].get<std::int64_t>(); };
  const std::int64_t epochs = of("setup") + 81 * (of("forward") + of("backward") + of("inference"));
  const std::int64_t fetched = second["routes"]["fetched_bytes"][0][1].get<std::int64_t>();
  EXPECT_THAT(fetched - epochs, ::testing::AnyOf(0, of("inference"))) << "the best weights may be evaluated once more";
}

/// Rows that no block of a card has room for: a plan says so, and a card takes other ways. Threads have the room.
TEST(Devices, HaveNoKernelOfTheirOwnForRowsThatAreTooWide) {
  const Workplace place;
  for (const auto& [features, said] : {std::pair("9000", "1 warps a block, 1 rows under way"),
                                       std::pair("20000", ": none, a row is too wide for a block's shared memory")}) {
    const std::string data = fmt::format("dcsbm:nodes=40,degree=4,features={}", features);
    for (const char* device : {"cpu", "cuda"}) {
      const CommandResult plan = place.gneiss({"plan", data, "--model", "gin", "--devices", "2", "--device", device});
      EXPECT_EQ(plan.code, 0) << plan.err;
      EXPECT_THAT(plan.out, HasSubstr(said));
    }
  }
  std::vector<std::string> words = {"train",      "dcsbm:nodes=40,degree=4,features=20000",
                                    "--model",    "gin",
                                    "--devices",  "2",
                                    "--exchange", "fine",
                                    "--epochs",   "1",
                                    "--no-save"};
  EXPECT_EQ(place.gneiss(words).code, 0);
  words.insert(words.end(), {"--device", "emulated"});
  const CommandResult refused = place.gneiss(words);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--exchange fine: a row of 20000 columns is too wide"));
  EXPECT_THAT(refused.err, HasSubstr("use --exchange halo"));
}

/// On a card warps of a block and rows under way are tuned: what is added to what goes by the other two, and bits may
/// not depend on timings.
TEST(Devices, OfACardTuneWhatNoBitDependsOn) {
  const Workplace place;
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"karate", "--device", "emulated", "--devices", "2", "--exchange", "fine", "--no-save"});
    return train(place, more);
  };
  const Json first = run({"--epochs", "81"});
  const Json& found = first["routes"]["tuner"];
  ASSERT_TRUE(found["done"].get<bool>());
  EXPECT_GT(found["trials"].get<int>(), 2);
  EXPECT_LE(found["trials"].get<int>(), 16);
  const Json second = run({"--epochs", "81"});
  EXPECT_FALSE(second["routes"].contains("tuner")) << "its numbers are kept";
  EXPECT_EQ(second["losses"], first["losses"]);
  EXPECT_THAT(second["notes"].dump(), HasSubstr("with numbers of the tuner from an earlier training"));
  const Json threads = train(place, {"karate", "--devices", "2", "--exchange", "fine", "--epochs", "1", "--no-save"});
  EXPECT_TRUE(threads["routes"].contains("tuner")) << "numbers of a card are not those of threads";
  const Json processes = run({"--epochs", "81", "--processes"});
  EXPECT_EQ(processes["losses"], first["losses"]);
}

/// Of the last epoch: what each device does and waits for, and what its link brings, to the byte.
TEST(Devices, ShowWhatTheyDo) {
  const Workplace place;
  for (const char* how : {"halo", "stream", "fine"}) {
    SCOPED_TRACE(how);
    const std::vector<std::string> by = {kGraph,      "--model", "sage",       "--epochs", "3",
                                         "--devices", "3",       "--exchange", how};
    std::vector<std::string> training = by;
    training.insert(training.end(), {"--trace", "trace.json", "--no-save", "--eval-every", "1000"});
    train(place, training);
    std::vector<std::string> planning = by;
    planning.insert(planning.begin(), "plan");
    planning.emplace_back("--json");
    const CommandResult plan = place.gneiss(planning);
    ASSERT_EQ(plan.code, 0) << plan.err;
    const Json planned = Json::parse(plan.out)["devices"]["fetched_bytes"];
    const Json trace = Json::parse(place.read("trace.json"));
    std::map<int, std::map<std::string, int>> count;    // by device
    std::map<std::pair<int, int>, std::int64_t> bytes;  // by device and device from
    std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const int device = event["pid"].get<int>() - 1;
      ++count[device][event["name"].get<std::string>()];
      if (event["name"] == "get")
        bytes[{device, event["args"]["from"].get<int>()}] += event["args"]["bytes"].get<std::int64_t>();
      const double begin = event["ts"].get<double>();
      tracks[{device, event["tid"].get<int>()}].emplace_back(begin, begin + event["dur"].get<double>());
    }
    ASSERT_EQ(count.size(), 3U);
    for (const auto& [device, names] : count) {
      for (const char* name : {"local sum", "remote sum", "wait", "get"}) EXPECT_TRUE(names.contains(name)) << name;
      for (int from = 0; from < 3; ++from) {
        const Json& phases = planned[static_cast<std::size_t>(device)];
        const auto of = [&](const char* phase) {
          return phases[phase][static_cast<std::size_t>(from)].get<std::int64_t>();
        };
        const std::int64_t once = of("forward") + of("backward");
        EXPECT_EQ((bytes[{device, from}] - once) % std::max<std::int64_t>(1, of("inference")), 0)
            << "device " << device << " from " << from << ": an epoch, and evaluations";
        EXPECT_GE((bytes[{device, from}]), once);
      }
    }
    for (auto& [track, spans] : tracks) {  // what one thread does, and what one link brings, follows one another
      std::sort(spans.begin(), spans.end());
      for (std::size_t i = 0; i + 1 < spans.size(); ++i) EXPECT_LE(spans[i].second, spans[i + 1].first + 1e-3);
    }
  }
  const CommandResult alone = place.gneiss({"train", kGraph, "--trace", "trace.json", "--no-save"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--trace is for a device that prepares batches"));
}

/// Ranks that fetch rows are devices by another name: the same bits, bytes and memory.
TEST(Ranks, FetchRowsByFine) {
  const Workplace place;
  for (const char* model : {"sage", "gcn"}) {
    SCOPED_TRACE(model);
    const auto on = [&](const char* several) {
      return train(place, {kGraph, "--model", model, "--epochs", "4", "--exchange", "fine", "--no-save", several, "3"});
    };
    const Json ranks = on("--ranks");
    const Json devices = on("--devices");
    EXPECT_EQ(ranks["losses"], devices["losses"]);
    EXPECT_EQ(ranks["test"], devices["test"]);
    for (const char* what : {"exchange", "fetched_bytes", "bytes", "exchange_bytes"})
      EXPECT_EQ(ranks["routes"][what], devices["routes"][what]) << what;
    EXPECT_EQ(ranks["routes"]["exchange"], "fine");
    EXPECT_GT(sum_of(ranks["routes"]["fetched_bytes"]), 0);
    EXPECT_THAT(ranks["notes"].dump(), HasSubstr("3 ranks with"));
    EXPECT_THAT(devices["notes"].dump(), HasSubstr("3 devices with"));
  }
  const CommandResult cut = place.gneiss({"data", "partition", kGraph, "--parts", "2", "--out", "parts"});
  ASSERT_EQ(cut.code, 0) << cut.err;
  const auto of_parts = [&](const char* how) {
    return train(place, {"parts", "--epochs", "4", "--ranks", "2", "--exchange", how, "--no-save"});
  };
  expect_same_losses(of_parts("fine"), of_parts("halo"));
}

/// What an exchange cannot serve is said: attention looks at all scores of sources before its first row.
TEST(Devices, SayWhatAnExchangeCannotServe) {
  const Workplace place;
  const Json report =
      train(place, {kGraph, "--model", "gat", "--devices", "2", "--exchange", "fine", "--epochs", "1", "--no-save"});
  EXPECT_THAT(report["notes"].dump(), HasSubstr("not by fine: rows that attention reads"));
  const Json off = train(place, {kGraph, "--devices", "2", "--exchange", "stream", "--passes-off", "overlap",
                                 "--epochs", "1", "--no-save"});
  EXPECT_THAT(off["notes"].dump(), HasSubstr("not by stream: the pass overlap is off"));
}

/// One process is killed: the first one says so and ends with 6, soon; it leaves no run folder.
TEST(Devices, AKilledProcessEndsTheTraining) {
  const Workplace place;
  const CommandResult result =
      place.gneiss_with_killed_child({"train", kGraph, "--exchange", "stream", "--epochs", "1000000", "--devices", "3",
                                      "--processes", "--out", "run", "--eval-every", "1000000"});
  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("of 3 is lost: its process ended"));
  EXPECT_THAT(place.list(), ::testing::Not(::testing::Contains("run")));
}

TEST(Devices, TrainCoraAsOneDoes) {
  const std::optional<std::filesystem::path> cora = real_data("planetoid_cora");
  if (!cora) GTEST_SKIP() << "no real data: set GNEISS_DATA to the folder of planetoid_cora/";
  const Workplace place;
  const std::vector<std::string> common = {cora->string(), "--epochs", "20", "--no-save"};
  std::vector<std::string> together = common;
  together.insert(together.end(), {"--devices", "4"});
  const Json alone = train(place, common);
  const Json report = train(place, together);
  expect_same_losses(report, alone);
  EXPECT_EQ(report["test"]["accuracy"], alone["test"]["accuracy"]);
}

/// By plain steps: Adam makes whole ones of gradients that are nothing but rounding.
TEST(Devices, TrainRedditAsOneDoes) {
  const Workplace place;
  const std::vector<std::string> common = {
      "reddit:scale=0.005", "--epochs", "20", "--optimizer", "sgd", "--lr", "0.1", "--eval-every", "1000", "--no-save"};
  std::vector<std::string> together = common;
  together.insert(together.end(), {"--devices", "4"});
  expect_same_losses(train(place, together), train(place, common));
}

TEST(Devices, ArePlanned) {
  const Workplace place;
  const CommandResult result = place.gneiss({"plan", kGraph, "--devices", "8", "--machine", "dgx-a100", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json devices = Json::parse(result.out)["devices"];
  ASSERT_EQ(devices["parts"].size(), 8U);
  std::int64_t nodes = 0;
  for (const Json& part : devices["parts"]) {
    nodes += part["nodes"].get<std::int64_t>();
    std::int64_t rows = 0;
    std::int64_t edges = 0;
    for (const Json& n : part["halo_rows_from"]) rows += n.get<std::int64_t>();
    for (const Json& n : part["edge_rows_from"]) edges += n.get<std::int64_t>();
    EXPECT_LE(rows, edges);
    EXPECT_EQ(edges, part["remote_edges"].get<std::int64_t>());
  }
  EXPECT_EQ(nodes, 2000);
  EXPECT_LE(devices["stream_seconds"].get<double>(), devices["halo_seconds"].get<double>());
  EXPECT_LT(devices["halo_seconds"].get<double>(), devices["fine_seconds"].get<double>());
  EXPECT_EQ(devices["exchange"], "stream");
  const CommandResult unknown = place.gneiss({"plan", kGraph, "--devices", "8", "--machine", "dgx-a10"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'dgx-a100'?"));
}

TEST(Devices, RefuseWhatTheyCannot) {
  const Workplace place;
  const CommandResult both = place.gneiss({"train", kGraph, "--devices", "2", "--ranks", "2"});
  EXPECT_EQ(both.code, 2) << both.err;
  EXPECT_THAT(both.err, HasSubstr("--devices does not go with --ranks"));
  for (const char* command : {"train", "plan"}) {
    const CommandResult machine = place.gneiss({command, kGraph, "--machine", "pcie4"});
    EXPECT_EQ(machine.code, 2) << machine.err;
    EXPECT_THAT(machine.err, HasSubstr("use it with --devices N and no other --exchange"));
    const CommandResult exchange = place.gneiss({command, kGraph, "--exchange", "fine"});
    EXPECT_EQ(exchange.code, 2) << exchange.err;
    EXPECT_THAT(exchange.err, HasSubstr("add --devices 4 or --ranks 4, or leave it out"));
  }
  const CommandResult fine = place.gneiss({"plan", kGraph, "--ranks", "2", "--exchange", "fine"});
  EXPECT_EQ(fine.code, 2) << fine.err;
  EXPECT_THAT(fine.err, HasSubstr("--exchange fine has no modelled time on ranks"));
}

TEST(Ranks, LeaveOneRunFolderThatPredictsAsItScored) {
  const Workplace place;
  const Json report = train(place, {kGraph, "--ranks", "3", "--epochs", "5", "--runs", "2", "--out", "run"});
  EXPECT_THAT(place.list(), ElementsAre("run"));
  EXPECT_THAT(report["notes"].dump(), HasSubstr("3 ranks"));
  const CommandResult eval = place.gneiss({"eval", "run", "--json"});
  ASSERT_EQ(eval.code, 0) << eval.err;
  const auto saved = report["saved_run"].get<std::size_t>();
  EXPECT_NEAR(Json::parse(eval.out)["test"]["accuracy"].get<double>(),
              report["test"]["accuracy"]["runs"][saved].get<double>(), 1e-9);
}

TEST(Ranks, TheSameSeedGivesTheSameRunForAnyNumberOfThreads) {
  const Workplace place;
  for (const char* threads : {"1", "4"})
    train(place,
          {kGraph, "--ranks", "2", "--epochs", "4", "--threads", threads, "--out", std::string("run") + threads});
  EXPECT_EQ(place.read("run1/model.safetensors"), place.read("run4/model.safetensors"));
}

TEST(Ranks, SplitsChangeBetweenRuns) {
  const Workplace place;
  const std::vector<std::string> common = {kGraph,   "--epochs",        "4",        "--runs", "2", "--split",
                                           "random", "--split-per-run", "--no-save"};
  std::vector<std::string> together = common;
  together.insert(together.end(), {"--ranks", "2"});
  EXPECT_EQ(train(place, together)["test"]["accuracy"], train(place, common)["test"]["accuracy"]);
}

TEST(Ranks, WhatTheyDoNotDoIsRefusedByName) {
  const Workplace place;
  const auto refused = [&](std::vector<std::string> arguments, const char* what) {
    const CommandResult result = place.gneiss(arguments);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(what));
    EXPECT_THAT(result.out, "");
  };
  refused({"train", kGraph, "--ranks", "2", "--batch-size", "64"}, "--batch-size does not go with --ranks");
  refused({"train", kGraph, "--ranks", "2", "--device", "sim:uk-sage-b"}, "--device does not go with --ranks");
  refused({"train", kGraph, "--ranks", "2", "--mem", "1G"}, "--mem does not go with --ranks");
  refused({"train", kGraph, "--ranks", "2", "--jit"}, "--jit does not go with --ranks");
  refused({"train", kGraph, "--ranks", "0"}, "ranks");
  refused({"synth", kGraph, "--ranks", "2", "-o", "program"}, "on one rank");
  refused({"synth", kGraph, "--target", "mpi", "--ranks", "2", "--exchange", "stream", "-o", "program"},
          "a written program does not take up others' rows by stream");
}

}  // namespace
}  // namespace gneiss::testing
