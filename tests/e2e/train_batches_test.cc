// Training on mini-batches through the command: scores beside the full graph's, what a run leaves, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "e2e/command.h"
#include "support/data_fixtures.h"

namespace gneiss::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kGraph = "dcsbm:nodes=2000,classes=4,seed=5";

Json train(const Workplace& place, const std::vector<std::string>& words, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"train", kGraph, "--json", "--model"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CommandResult result = place.gneiss(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  return Json::parse(result.out);
}

class BatchesOf : public ::testing::TestWithParam<const char*> {};

TEST_P(BatchesOf, LearnAsTheFullGraphDoes) {
  const Workplace place;
  const std::string model = GetParam();
  const std::string norm = model == "gin" ? "batch" : "none";
  const Json full = train(place, {model, "--norm", norm, "--epochs", "60", "--no-save"});
  const Json batches =
      train(place, {model, "--norm", norm, "--epochs", "15", "--batch-size", "32", "--fanout", "10,10", "--no-save"});
  const double expected = full["test"]["accuracy"]["mean"];
  EXPECT_GE(batches["test"]["accuracy"]["mean"].get<double>(), expected - 0.03);
}

INSTANTIATE_TEST_SUITE_P(Models, BatchesOf, ::testing::Values("gcn", "sage", "gin", "gat"),
                         [](const auto& test) { return std::string(test.param); });

/// The mean of fifteen seeds, of each way, within a point: three times as far as chance takes two such means apart.
TEST(Batches, CoraScoresAsOnTheFullGraph) {
  const std::optional<std::filesystem::path> cora = real_data("planetoid_cora");
  if (!cora) GTEST_SKIP() << "no real data: set GNEISS_DATA to the folder of planetoid_cora/";
  const Workplace place;
  for (const std::string model : {"sage", "gcn"}) {
    const auto score = [&](const std::vector<std::string>& more) {
      std::vector<std::string> words = {"train", cora->string(), "--model",   model, "--runs",
                                        "15",    "--no-save",    "--threads", "2",   "--json"};
      words.insert(words.end(), more.begin(), more.end());
      const CommandResult result = place.gneiss(words);
      EXPECT_EQ(result.code, 0) << result.err;
      return result.code == 0 ? Json::parse(result.out)["test"]["accuracy"]["mean"].get<double>() : 0;
    };
    const double full = score({});
    EXPECT_GT(full, 0.77) << model;
    EXPECT_NEAR(score({"--batch-size", "1024", "--fanout", "15,10"}), full, 0.01) << model;
  }
}

TEST(Batches, DegreesMayBeThoseOfABatch) {
  const Workplace place;
  const std::vector<std::string> common = {"gcn", "--epochs", "5",   "--batch-size",
                                           "64",  "--fanout", "5,5", "--no-save"};
  std::vector<std::string> own = common;
  own.insert(own.end(), {"--degrees", "batch"});
  const Json full = train(place, common);
  const Json batch = train(place, own);
  EXPECT_NE(full["losses"], batch["losses"]);
  EXPECT_GT(batch["test"]["accuracy"]["mean"].get<double>(), 0.5);
}

TEST(Batches, ARunPredictsAsItScored) {
  const Workplace place;
  const Json report = train(place, {"sage", "--epochs", "3", "--batch-size", "64", "--fanout", "5,5", "--out", "run"});
  const CommandResult eval = place.gneiss({"eval", "run", "--json"});
  ASSERT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(Json::parse(eval.out)["test"]["accuracy"], report["test"]["accuracy"]["mean"]) << eval.out;
  EXPECT_THAT(place.read("run/config.yaml"), HasSubstr("size: 64"));
}

TEST(Batches, EvaluationKeepsWithinMemoryLayerByLayer) {
  const Workplace place;
  const std::string data = "dcsbm:nodes=12000,classes=5,features=32,degree=12,seed=2";
  const auto with = [&](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return place.gneiss(arguments);
  };
  // GATv2 holds a row of each edge at once, where the whole graph is evaluated at once.
  const std::vector<std::string> training = {"train",        data,          "--model",
                                             "gat",          "--model-arg", "v2=true",
                                             "--num-layers", "2",           "--hidden-channels",
                                             "64",           "--epochs",    "1",
                                             "--batch-size", "512",         "--fanout",
                                             "3,3",          "--defaults",  "plain",
                                             "--threads",    "2",           "--json"};
  const CommandResult whole = with(training, {"--out", "whole"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  const Json at_once = Json::parse(whole.out);
  const auto mem = static_cast<std::int64_t>(0.6 * at_once["plan_peak_bytes"].get<double>());
  const CommandResult small = with(training, {"--out", "small", "--mem", std::to_string(mem)});
  ASSERT_EQ(small.code, 0) << small.err;
  const Json by_layers = Json::parse(small.out);
  EXPECT_THAT(small.out, HasSubstr("layer by layer"));
  EXPECT_THAT(whole.out, ::testing::Not(HasSubstr("layer by layer")));
  EXPECT_NEAR(by_layers["test"]["accuracy"]["mean"].get<double>(), at_once["test"]["accuracy"]["mean"].get<double>(),
              1e-3);
  EXPECT_EQ(place.read("small/model.safetensors"), place.read("whole/model.safetensors"));
  EXPECT_LE(by_layers["plan_peak_bytes"].get<std::int64_t>(), mem);
  EXPECT_LE(by_layers["peak_rss_bytes"].get<double>(), 1.1 * static_cast<double>(mem));
  // What the run folder is good for keeps within a limit too.
  const CommandResult scores = with({"eval", "whole"}, {"--mem", std::to_string(mem)});
  EXPECT_EQ(scores.code, 0) << scores.err;
  EXPECT_THAT(scores.err,
              HasSubstr("warning: --mem does not hold the whole graph's evaluation at once; scores: layer"));
  const CommandResult unlimited = with({"eval", "whole"}, {});
  EXPECT_EQ(scores.out, unlimited.out);
  EXPECT_EQ(unlimited.err, "");
  for (const char* command : {"predict", "embed"}) {
    const CommandResult limited = with({command, "whole"}, {"--mem", std::to_string(mem), "--out", "rows.npy"});
    EXPECT_EQ(limited.code, 0) << limited.err;
    const CommandResult too_little = with({command, "whole"}, {"--mem", "12M"});
    EXPECT_EQ(too_little.code, 4) << too_little.err;
  }
  std::vector<std::string> measuring(training.begin(), training.end() - 1);  // no --json
  measuring[0] = "profile";
  const CommandResult measured = with(measuring, {"--mem", std::to_string(mem)});
  EXPECT_EQ(measured.code, 0) << measured.err;
  const CommandResult refused = with(training, {"--no-save", "--mem", "40M"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("MiB"));
}

TEST(Batches, TheSameSeedGivesTheSameRunForAnyNumberOfThreads) {
  const Workplace place;
  for (const char* threads : {"1", "2", "5"}) {
    train(place,
          {"gcn", "--epochs", "2", "--batch-size", "50", "--threads", threads, "--out", std::string("run") + threads});
  }
  EXPECT_EQ(place.read("run1/model.safetensors"), place.read("run2/model.safetensors"));
  EXPECT_EQ(place.read("run1/model.safetensors"), place.read("run5/model.safetensors"));
}

TEST(Batches, ASimulatedMachineTrainsTheSameAndTellsItsSchedule) {
  const Workplace place;
  const std::vector<std::string> common = {"sage", "--epochs", "2", "--batch-size", "16", "--fanout", "5,5"};
  const auto with = [&](const std::vector<std::string>& more) { return train(place, common, more); };
  const Json plain = with({"--out", "plain"});
  EXPECT_FALSE(plain.contains("routes"));
  const Json paper =
      with({"--device", "sim:uk-sage-b", "--schedule", "paper", "--trace", "trace.json", "--out", "paper"});
  EXPECT_EQ(paper["losses"], plain["losses"]);
  EXPECT_EQ(place.read("paper/model.safetensors"), place.read("plain/model.safetensors"));
  const Json& routes = paper["routes"];
  EXPECT_EQ(routes["profile"], "uk-sage-b");
  EXPECT_NEAR(routes["first_x"].get<double>(), 0.83, 0.01);
  EXPECT_EQ(routes["epoch_seconds"], routes["predicted_seconds"]);
  EXPECT_GE(routes["epoch_seconds"].get<double>(), routes["bound_seconds"].get<double>());
  EXPECT_GT(routes["batches"]["cpu"].get<int>(), 0);
  EXPECT_GT(routes["batches"]["device"].get<int>(), 0);
  const Json trace = Json::parse(place.read("trace.json"));
  std::set<std::string> names;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "M") names.insert(event["args"]["name"]);
  for (const char* name : {"plan", "run", "CPU 0", "link", "device"}) EXPECT_TRUE(names.contains(name)) << name;
}

/// Weights by the file, losses by the epochs; a run's own folder knows them.
TEST(Batches, HotRowsTrainTheSameAndAreCounted) {
  const Workplace place;
  const std::vector<std::string> common = {"sage", "--epochs", "2", "--batch-size", "16", "--fanout", "5,5"};
  const auto with = [&](const std::vector<std::string>& more) { return train(place, common, more); };
  const Json plain = with({"--device", "sim:v100", "--hot", "0", "--out", "plain"});
  EXPECT_FALSE(plain["routes"].contains("rows"));
  const CommandResult predicted = place.gneiss({"predict", "plain", "--out", "plain.csv"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  std::int64_t all_rows = 0;
  int number = 0;
  for (const std::string hot : {"1", "5%", "100 %"}) {
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--device", "sim:v100"},
          {"--device", "sim:uk-sage-b", "--hot-score", "degree"},
          {"--device", "sim:v100", "--schedule", "coinflip:0.5", "--reorder", "clusters", "--threads", "2"}}) {
      std::vector<std::string> arguments = {"--hot", hot, "--out", "hot", "--force"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const Json run = with(arguments);
      EXPECT_EQ(run["losses"], plain["losses"]) << hot;
      const std::string predictions = std::to_string(++number) + ".csv";
      ASSERT_EQ(place.gneiss({"predict", "hot", "--out", predictions}).code, 0);
      EXPECT_EQ(place.read(predictions), place.read("plain.csv")) << hot;
      const Json& rows = run["routes"]["rows"];
      const auto count = [&](const char* where) { return rows[where]["rows"].get<std::int64_t>(); };
      const std::int64_t sum = count("device") + count("link") + count("cpu");
      if (all_rows == 0) all_rows = sum;
      EXPECT_EQ(sum, all_rows);
      EXPECT_GT(count("device"), 0);
      if (hot == "100 %") {
        EXPECT_EQ(count("device"), sum);
      }
    }
  }
}

/// As many rows as fit: none where the plan takes all, all where there is more than enough.
TEST(Batches, HotRowsFillTheDevice) {
  const Workplace place;
  const auto rows = [&](const char* memory) {
    const Json run = train(place, {"sage", "--epochs", "1", "--batch-size", "16", "--fanout", "5,5", "--device",
                                   "sim:v100", "--hot", "auto", "--device-mem", memory, "--no-save"});
    return run["routes"].contains("rows") ? run["routes"]["rows"]["hot"].get<std::int64_t>() : 0;
  };
  EXPECT_EQ(rows("1"), 0);
  EXPECT_EQ(rows("1G"), 2000);
  const std::int64_t some = rows("2M");
  EXPECT_GT(some, 0);
  EXPECT_LT(some, 2000);
  EXPECT_GT(rows("2500K"), some);
}

/// Two devices on batches of 16 are one on batches of 32, wherever rows lie.
TEST(Batches, SeveralDevicesShareEachBatch) {
  const Workplace place;
  const std::vector<std::string> common = {"sage", "--epochs", "2", "--fanout", "5,5"};
  const auto with = [&](const std::vector<std::string>& more) { return train(place, common, more); };
  const Json one = with({"--batch-size", "32", "--no-save"});
  const Json two = with({"--batch-size", "16", "--devices", "2", "--out", "two"});
  const auto losses = [](const Json& run) { return run["losses"].get<std::vector<std::vector<double>>>().front(); };
  ASSERT_EQ(losses(two).size(), losses(one).size());
  for (std::size_t i = 0; i < losses(one).size(); ++i) EXPECT_NEAR(losses(two)[i], losses(one)[i], 1e-5);
  ASSERT_EQ(place.gneiss({"predict", "two", "--out", "two.csv"}).code, 0);
  for (const std::string hot : {"1", "5%", "auto"}) {
    const Json run = with({"--batch-size", "16", "--devices", "2", "--hot", hot, "--device", "sim:v100", "--device-mem",
                           "3M", "--out", "hot", "--force"});
    EXPECT_EQ(run["losses"], two["losses"]) << hot;
    const std::string predictions = "hot" + hot + ".csv";
    ASSERT_EQ(place.gneiss({"predict", "hot", "--out", predictions}).code, 0);
    EXPECT_EQ(place.read(predictions), place.read("two.csv")) << hot;
    ASSERT_EQ(run["routes"]["read"].size(), 2U);
    EXPECT_EQ(run["routes"]["read"][0]["shared_bytes_by_owner"].size(), 2U);
    EXPECT_GT(run["routes"]["read"][1]["seconds"].get<double>(), 0);
  }
}

/// Rows of the graph that devices sample from change no draw, and each is read where it lies.
TEST(Batches, HotRowsOfTheGraphTrainTheSame) {
  const Workplace place;
  const std::vector<std::string> common = {"sage", "--epochs", "2",   "--batch-size",
                                           "16",   "--fanout", "5,5", "--no-save"};
  const auto with = [&](const std::vector<std::string>& more) { return train(place, common, more); };
  const auto read = [](const Json& run, std::size_t device, const char* where) {
    return run["routes"]["graph"]["read"][device][where]["rows"].get<std::int64_t>();
  };
  const Json plain = with({"--device", "sim:v100"});
  EXPECT_FALSE(plain["routes"].contains("graph"));
  std::int64_t all_rows = 0;
  for (const char* edges : {"1", "10%", "100%"}) {
    const Json run = with({"--device", "sim:v100", "--schedule", "device", "--hot-edges", edges});
    EXPECT_EQ(run["losses"], plain["losses"]) << edges;
    const std::int64_t sum = read(run, 0, "devices") + read(run, 0, "host");
    if (all_rows == 0) all_rows = sum;
    EXPECT_EQ(sum, all_rows);
    EXPECT_GT(read(run, 0, "devices"), 0);
    const Json beside = with(
        {"--device", "sim:v100", "--schedule", "coinflip:0.5", "--threads", "2", "--hot", "5%", "--hot-edges", edges});
    EXPECT_EQ(beside["losses"], plain["losses"]) << edges;
    EXPECT_LT(read(beside, 0, "devices") + read(beside, 0, "host"), all_rows) << "Route 0 samples on the CPU";
  }
  EXPECT_EQ(with({"--device", "sim:v100", "--schedule", "cpu", "--hot-edges",
                  "10%"})["routes"]["graph"]["read"][0]["host"]["rows"],
            0);
  for (const char* devices : {"2", "4"}) {
    const Json shared = with({"--devices", devices});
    const Json run = with({"--devices", devices, "--hot-edges", "30%", "--hot", "5%"});
    EXPECT_EQ(run["losses"], shared["losses"]) << devices;
    for (std::size_t d = 0; d < run["routes"]["graph"]["read"].size(); ++d) {
      const std::int64_t kept = read(run, d, "devices");
      EXPECT_GT(10 * kept, 3 * (kept + read(run, d, "host"))) << "the hottest are read more than their share";
      const std::vector<std::int64_t> owners = run["routes"]["graph"]["read"][d]["bytes_by_owner"];
      ASSERT_EQ(std::to_string(owners.size()), devices);
      EXPECT_LE(*std::ranges::max_element(owners), 2 * *std::ranges::min_element(owners)) << "dealt by turns";
    }
  }
}

/// What is left of the memory goes to rows of both kinds, as the plan says; what does not fit is refused.
TEST(Batches, MemoryIsSplitBetweenFeaturesAndGraph) {
  const Workplace place;
  const std::vector<std::string> sizes = {"--batch-size", "16", "--fanout", "5,5", "--device", "sim:v100"};
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"plan", kGraph, "--model", "sage", "--json"};
    arguments.insert(arguments.end(), sizes.begin(), sizes.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = place.gneiss(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out)["batches"];
  };
  const std::vector<std::string> fill = {"--hot", "auto", "--hot-edges", "auto", "--device-mem", "2M"};
  const Json planned = plan(fill);
  const std::int64_t graph_rows = planned["graph_rows"];
  EXPECT_GT(graph_rows, 0);
  EXPECT_GT(planned["replicated_rows"].get<std::int64_t>(), 0);
  EXPECT_GT(planned["graph_reads"]["devices"].get<double>(), 0);
  const std::int64_t taken = planned["plan_bytes"].get<std::int64_t>() +
                             planned["slabs"].get<std::int64_t>() * planned["slab_bytes"].get<std::int64_t>() +
                             planned["graph_bytes"].get<std::int64_t>() +
                             planned["replicated_rows"].get<std::int64_t>() * planned["row_bytes"].get<std::int64_t>();
  EXPECT_LE(taken, 2 << 20);
  EXPECT_GT(taken, (2 << 20) - 2 * planned["row_bytes"].get<std::int64_t>()) << "nothing is left over";
  std::vector<std::string> arguments = {"sage", "--epochs", "1", "--no-save"};
  arguments.insert(arguments.end(), sizes.begin(), sizes.end());
  arguments.insert(arguments.end(), fill.begin(), fill.end());
  const Json run = train(place, arguments);
  EXPECT_EQ(run["routes"]["graph"]["hot"], graph_rows);
  EXPECT_EQ(run["routes"]["rows"]["hot"], planned["replicated_rows"]);
  EXPECT_EQ(plan({"--hot-edges", "auto", "--device-mem", "1"})["graph_rows"], 0);
  EXPECT_EQ(plan({"--hot", "auto", "--hot-edges", "7", "--device-mem", "1G"})["graph_rows"], 7);
  for (const char* too_many : {"--hot", "--hot-edges"}) {
    const CommandResult refused =
        place.gneiss({"train", kGraph, "--model", "sage", "--batch-size", "16", "--fanout", "5,5", "--device",
                      "sim:v100", too_many, "100%", "--device-mem", "1M", "--out", "refused"});
    EXPECT_EQ(refused.code, 4) << too_many;
    EXPECT_THAT(refused.err, HasSubstr("a device has 1.00 MiB"));
    EXPECT_THAT(refused.err, HasSubstr("keep fewer"));
    EXPECT_THAT(place.list(), ::testing::Not(::testing::Contains("refused")));
  }
}

/// Processes are the threads' bits, in all that a run leaves, and nothing more lies in shared memory afterwards.
TEST(Batches, ProcessesTrainAsThreadsDo) {
  const Workplace place;
  const auto shared_memory = [] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      const std::string name = entry.path().filename();
      if (name.rfind("gneiss-test-", 0) != 0) names.insert(name);  // folders of tests beside this one
    }
    return names;
  };
  const std::set<std::string> before = shared_memory();
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--devices", "2"},
                                               {"--devices", "3", "--hot", "1", "--hot-edges", "100%"},
                                               {"--devices", "4", "--hot", "5%", "--hot-edges", "10%"},
                                               {"--devices", "4", "--hot", "100%"}}) {
    std::vector<std::string> common = {"sage", "--epochs", "3", "--batch-size", "16", "--fanout", "5,5"};
    common.insert(common.end(), more.begin(), more.end());
    const Json threads = train(place, common, {"--out", "threads", "--force"});
    const Json processes = train(place, common, {"--processes", "--out", "processes", "--force"});
    EXPECT_EQ(processes["losses"], threads["losses"]);
    EXPECT_EQ(processes["test"], threads["test"]);
    EXPECT_TRUE(processes["routes"]["processes"].get<bool>());
    EXPECT_EQ(processes["routes"]["read"], threads["routes"]["read"]) << "what each device read is told";
    EXPECT_EQ(processes["routes"].value("graph", Json()), threads["routes"].value("graph", Json())) << "and drew from";
    EXPECT_EQ(place.read("processes/model.safetensors"), place.read("threads/model.safetensors"));
  }
  for (const std::string& name : shared_memory())
    EXPECT_TRUE(before.contains(name) || name.find("gneiss") == std::string::npos);
  // Room that grows with a batch is every process's.
  const std::vector<std::string> stopped = {"sage", "--epochs",  "40", "--batch-size", "16", "--fanout",
                                            "5,5",  "--devices", "2",  "--patience",   "2",  "--no-save"};
  EXPECT_EQ(train(place, stopped, {"--processes"})["losses"], train(place, stopped, {})["losses"]) << "early stopping";
}

/// One process is killed: the first one says so and ends with 6, soon; it leaves no run folder.
TEST(Batches, AKilledProcessEndsTheTraining) {
  const Workplace place;
  const CommandResult result = place.gneiss_with_killed_child(
      {"train", kGraph, "--model", "sage", "--epochs", "1000000", "--batch-size", "16", "--fanout", "5,5", "--devices",
       "3", "--processes", "--out", "run", "--eval-every", "1000000"});
  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("of 3 is lost: its process ended"));
  EXPECT_THAT(place.list(), ::testing::Not(::testing::Contains("run")));
}

/// What a plan says of hot rows is what the training does, and more memory never reads slower.
TEST(Batches, APlanKnowsHotRows) {
  const Workplace place;
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"plan",     kGraph, "--model",  "sage",     "--batch-size", "16",
                                          "--fanout", "5,5",  "--device", "sim:v100", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = place.gneiss(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out)["batches"];
  };
  for (const char* devices : {"1", "3"}) {
    double before = 1e9;
    std::int64_t rows_before = 0;
    for (const char* memory : {"1", "2M", "3M", "4M", "6M", "1G"}) {
      const Json report = plan({"--hot", "auto", "--device-mem", memory, "--devices", devices});
      EXPECT_LE(report["read_seconds"].get<double>(), before * 1.0001) << memory;
      before = report["read_seconds"];
      const std::int64_t rows =
          report["replicated_rows"].get<std::int64_t>() + report["shared_rows"].get<std::int64_t>();
      EXPECT_GE(rows, rows_before);
      rows_before = rows;
    }
    EXPECT_EQ(rows_before, 2000);
  }
  const Json planned = plan({"--hot", "auto", "--device-mem", "3M"});
  const Json run = train(place, {"sage", "--epochs", "1", "--batch-size", "16", "--fanout", "5,5", "--device",
                                 "sim:v100", "--hot", "auto", "--device-mem", "3M", "--no-save"});
  EXPECT_EQ(planned["replicated_rows"], run["routes"]["rows"]["hot"]);
  EXPECT_GT(planned["replicated_rows"].get<std::int64_t>(), 0);
  const double steps = planned["steps"];
  const double hits = run["routes"]["rows"]["device"]["rows"].get<double>() / steps;
  EXPECT_NEAR(planned["reads"]["own"].get<double>(), hits, 0.1 * hits);
  const CommandResult text =
      place.gneiss({"plan", kGraph, "--model", "sage", "--batch-size", "16", "--device", "sim:v100", "--hot", "10%"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("rows that it keeps"));
  EXPECT_THAT(text.out, HasSubstr("200 of 2000"));
}

TEST(Batches, AMeasuredDeviceOfThreadsTrainsTheSame) {
  const Workplace place;
  const std::vector<std::string> common = {"--model",  "sage", "--batch-size", "16",
                                           "--fanout", "5,5",  "--threads",    "2"};
  const auto with = [&](std::vector<std::string> start, const std::vector<std::string>& more) {
    start.insert(start.end(), common.begin(), common.end());
    start.insert(start.end(), more.begin(), more.end());
    return place.gneiss(start);
  };
  const CommandResult profile = with({"profile", kGraph}, {"-o", "here.json", "--workers", "2"});
  ASSERT_EQ(profile.code, 0) << profile.err;
  EXPECT_THAT(profile.out, HasSubstr("CPU batch"));
  EXPECT_THAT(profile.out, HasSubstr("uniform without replacement, mfg, fanout 5,5"));
  EXPECT_EQ(Json::parse(place.read("here.json"))["workers"], 2);
  const CommandResult plain = with({"train", kGraph}, {"--epochs", "2", "--out", "plain"});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("uniform without replacement, mfg, fanout 5,5"));
  for (const char* schedule : {"best", "paper", "coinflip:0.5"}) {
    const CommandResult run = with({"train", kGraph}, {"--epochs", "2", "--out", schedule, "--device", "host:here.json",
                                                       "--schedule", schedule, "--json"});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(Json::parse(run.out)["routes"]["device"], "host");
    EXPECT_EQ(place.read(std::string(schedule) + "/model.safetensors"), place.read("plain/model.safetensors"));
  }
  Json slow = Json::parse(place.read("here.json"));
  for (const char* stage : {"cpu_batch_ms", "device_batch_ms", "uva_ms", "train_ms"}) slow[stage] = 1000;
  place.write("slow.json", slow.dump());
  const CommandResult learned =
      with({"train", kGraph}, {"--epochs", "2", "--out", "learned", "--device", "host:slow.json", "--json"});
  ASSERT_EQ(learned.code, 0) << learned.err;
  const Json routes = Json::parse(learned.out)["routes"];
  EXPECT_LT(routes["stage_ms"]["train"].get<double>(), 500) << "the second epoch is planned by the first";
  EXPECT_LT(routes["predicted_seconds"].get<double>(), 0.5 * routes["batches"]["cpu"].get<double>());
  EXPECT_EQ(place.read("learned/model.safetensors"), place.read("plain/model.safetensors"));
  const CommandResult beside =
      with({"profile", kGraph}, {"-o", "beside.json", "--workers", "1", "--contended", "--epochs", "1"});
  ASSERT_EQ(beside.code, 0) << beside.err;
  EXPECT_THAT(beside.out, HasSubstr("ms beside the other stages"));
  EXPECT_GT(Json::parse(place.read("beside.json"))["train_ms"].get<double>(), 0);
  const CommandResult none = place.gneiss({"profile", kGraph, "--model", "sage"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("add --batch-size"));
}

TEST(Batches, AModelHasALayerForEachNumberOfTheFanout) {
  const Workplace place;
  const auto losses = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"train",    kGraph,  "--model",  "sage", "--batch-size", "64",
                                      "--fanout", "5,4,3", "--epochs", "2",    "--no-save",    "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult run = place.gneiss(words);
    EXPECT_EQ(run.code, 0) << run.err;
    return Json::parse(run.out)["losses"];
  };
  EXPECT_EQ(losses({}), losses({"--num-layers", "3"}));
  EXPECT_EQ(losses({"--defaults", "plain"}), losses({"--defaults", "plain", "--num-layers", "3"}));
}

TEST(Batches, TheScheduleCommandNeedsNoData) {
  const Workplace place;
  const CommandResult text = place.gneiss({"schedule", "uk-sage-b", "--schedule", "paper"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("x 0.83, cbs 12, gbs 10"));
  EXPECT_THAT(text.out, HasSubstr("busy     CPU"));
  const CommandResult json = place.gneiss({"schedule", "pa-gat-c", "--batches", "100", "--json", "--trace", "t.json"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out)["mode"], "best");
  EXPECT_THAT(place.read("t.json"), HasSubstr("traceEvents"));
  EXPECT_THAT(place.gneiss({"help", "profiles"}).out, HasSubstr("tw-gcn-a"));
}

TEST(Batches, OneTrainingNodeIsAnEpochOnEveryRoute) {
  const Workplace place;
  place.write("train.txt", "16\n");
  place.write("val.txt", "18\n");
  place.write("test.txt", "17\n");
  place.write("nobody.txt", "");
  const auto train = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"train",     "karate",  "--model",    "sage",     "--batch-size", "4",
                                      "--fanout",  "3,2",     "--epochs",   "3",        "--no-save",    "--json",
                                      "--val-ids", "val.txt", "--test-ids", "test.txt", "--train-ids",  file};
    words.insert(words.end(), more.begin(), more.end());
    return place.gneiss(words);
  };
  const auto losses = [](const CommandResult& result) {
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out)["losses"];
  };
  const Json expected = losses(train("train.txt", {}));
  for (const char* device : {"sim:uk-sage-b", "host:tw-sage-b"})
    for (const char* schedule : {"paper", "best", "cpu", "device", "coinflip:0.5"})
      for (const char* room : {"1", "10"})
        EXPECT_EQ(losses(train("train.txt", {"--device", device, "--schedule", schedule, "--device-batches", room})),
                  expected)
            << device << " " << schedule << " " << room;
  const CommandResult none = train("nobody.txt", {});
  EXPECT_EQ(none.code, 3) << none.err;
  EXPECT_THAT(none.err, HasSubstr("nobody.txt"));
}

TEST(Batches, WhatCannotBeIsRefused) {
  const Workplace place;
  const auto refused = [&](std::vector<std::string> arguments, int code, const char* what) {
    const CommandResult result = place.gneiss(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(what));
  };
  refused({"train", kGraph, "--model", "sage", "--batch-size", "64", "--fanout", "5,5,5", "--num-layers", "2"}, 2,
          "2 hops");
  refused({"train", kGraph, "--model", "sage", "--batch-size", "64", "--fanout", "5,x"}, 2, "--fanout");
  refused({"train", kGraph, "--model", "sage", "--batch-size", "0"}, 2, "batch");
  refused({"sample", kGraph, "--degrees", "batch"}, 2, "--degrees says what a training computes");
  refused({"synth", kGraph, "--batch-size", "64", "-o", "program"}, 2, "mini-batches");
  refused({"synth", kGraph, "--processes", "-o", "program"}, 2, "no devices that could be processes");
  refused({"synth", kGraph, "--no-overlap", "-o", "program"}, 2, "while rows are on their way");
  refused({"profile", kGraph, "--batch-size", "64", "--devices", "2"}, 2, "leave --devices out");
  refused({"plan", kGraph, "--batch-size", "64", "--devices", "2", "--machine", "pcie4"}, 2, "--device sim:NAME");
  refused({"train", kGraph, "--batch-size", "64", "--device", "gpu"}, 2, "there is no device 'gpu'");
  refused({"train", kGraph, "--batch-size", "64", "--device", "sim:uk-sage-x"}, 2, "did you mean 'uk-sage-");
  refused({"train", kGraph, "--device", "sim:uk-sage-b"}, 2, "--device is for mini-batches");
  refused({"train", kGraph, "--batch-size", "64", "--schedule", "paper"}, 2, "--schedule is for a device");
  refused({"train", kGraph, "--schedule", "cosine"}, 2, "--lr-schedule cosine");
  refused({"train", kGraph, "--batch-size", "64", "--device", "sim:uk-sage-b", "--schedule", "fast"}, 2, "coinflip:R");
  refused(
      {"train", kGraph, "--model", "sage", "--batch-size", "64", "--device", "sim:uk-sage-b", "--trace", "no/where"}, 4,
      "no/where");
  ASSERT_EQ(place.gneiss({"data", "generate", kGraph, "--out", "folder"}).code, 0);
  const std::filesystem::path features = place.path("folder") / "features.npy";
  std::filesystem::resize_file(features, std::filesystem::file_size(features) / 2);
  refused({"train", "folder", "--model", "sage", "--batch-size", "64"}, 3, "features.npy");
  place.write("bad.json", "{\"name\": \"x\"}");
  refused({"train", kGraph, "--batch-size", "64", "--device", "sim:bad.json"}, 3, "the profile has no field 'workers'");
  refused({"train", kGraph, "--batch-size", "64", "--hot", "10%"}, 2, "--hot is for a device");
  const auto refused_hot = [&](std::vector<std::string> more, const char* what) {
    std::vector<std::string> arguments = {"train", kGraph, "--batch-size", "64", "--device", "sim:v100"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    refused(arguments, 2, what);
  };
  for (const char* hot : {"10x", "-1", "120%", "2.5", "%", "many", "nan"}) refused_hot({"--hot", hot}, "--hot 10%");
  refused_hot({"--hot-score", "vip"}, "add --hot");
  refused({"train", kGraph, "--batch-size", "64", "--hot-edges", "10%"}, 2, "--hot-edges is for a device");
  refused_hot({"--hot-edges", "10x"}, "--hot-edges 10%");
  refused({"train", kGraph, "--batch-size", "64", "--device", "sim:uk-sage-b", "--hot", "auto"}, 2, "--device-mem");
  refused_hot({"--hot", "5%", "--hot-score", "vop"}, "unknown score 'vop'");
  refused({"schedule", "v100"}, 2, "is a machine by its rates");
  const auto refused_devices = [&](std::vector<std::string> more, const char* what) {
    std::vector<std::string> arguments = {"train", kGraph, "--batch-size", "64", "--devices", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    refused(arguments, 2, what);
  };
  refused({"plan", kGraph, "--batch-size", "64", "--device", "cuda"}, 2, "do not run on cards yet");
  refused({"train", kGraph, "--batch-size", "64", "--device-mem", "1G"}, 2, "--device-mem is for a device");
  refused_devices({"--device", "sim:v100", "--schedule", "cpu"}, "--schedule is for one device");
  refused_devices({"--device", "sim:uk-sage-b"}, "by its rates, not 'sim:uk-sage-b'");
  refused({"train", kGraph, "--batch-size", "64", "--processes"}, 2, "--processes makes processes of the devices");
  refused_devices({"--devices", "65", "--processes"}, "at most 64 devices");
  refused_devices({"--hot", "auto"}, "how much memory a device has is not known");
  refused_devices({"--model", "gin", "--norm", "batch"}, "is a running statistic");
  refused({"schedule", "uk-sage-b", "--batches", "-3"}, 2, "expected 1 to 10000000 batches");
  refused({"schedule", "uk-sage-b", "--device-batches", "0"}, 2, "room for one batch");
  place.write("back.gneiss",
              "layer back(x: node[F], out: int) -> node[out] {\n  param W: [F, out];\n"
              "  return sum((x * W)@dst) over out_edges;\n}\n");
  refused({"train", kGraph, "--model", "back.gneiss", "--batch-size", "64"}, 2, "out-edges");
}

}  // namespace
}  // namespace gneiss::testing
