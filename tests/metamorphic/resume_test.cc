// A training that is stopped after some step and goes on from its checkpoint ends with the bytes of one that was not:
// weights, scores and metrics but for seconds.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "gneiss/error.h"
#include "jobs/checkpoints.h"
#include "jobs/job.h"

namespace gneiss {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Settings = std::map<std::string, std::string>;

struct Case {
  std::string name;
  Settings settings;
  std::vector<int> stops;  ///< after how many steps of each process; the last one goes on to the end
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

const char* const kGraph = "dcsbm:nodes=240,classes=3,features=12,seed=4";

std::vector<Case> cases() {
  const Settings batches = {{"batch.size", "5"}, {"batch.fanout", "4,3"}, {"train.epochs", "4"}};
  const auto with = [](Settings settings, const Settings& more) {
    for (const auto& [key, value] : more) settings[key] = value;
    return settings;
  };
  return {
      {"plain", {}, {4, 1, 7}},
      {"sgd", {{"optim.name", "sgd"}, {"optim.momentum", "0.9"}, {"optim.nesterov", "true"}, {"optim.lr", "0.1"}}, {5}},
      {"adamw_clipped", {{"optim.name", "adamw"}, {"optim.clip_norm", "0.5"}, {"optim.weight_decay", "0.1"}}, {6}},
      {"cosine", {{"schedule.name", "cosine"}, {"schedule.warmup_epochs", "4"}}, {2, 6}},
      {"plateau", {{"schedule.name", "plateau"}, {"schedule.patience", "0"}, {"schedule.threshold", "0.2"}}, {3, 5}},
      {"early_stopping",
       {{"train.patience", "3"}, {"train.monitor", "both"}, {"train.epochs", "60"}, {"optim.lr", "0.3"}},
       {4, 1}},
      {"runs", {{"train.runs", "3"}, {"train.epochs", "5"}, {"train.eval_every", "2"}}, {3, 4, 5}},
      {"first_run_best",
       {{"train.runs", "3"}, {"train.epochs", "3"}, {"train.monitor", "loss"}, {"train.seed", "2"}},
       {4, 1, 1}},
      {"splits",
       {{"train.runs", "2"},
        {"data.split", "shchur"},
        {"data.split_per_run", "true"},
        {"data.normalize_features", "train-standard"}},
       {3, 9}},
      {"gat", {{"model.name", "gat"}, {"model.dropout", "0.6"}}, {5}},
      {"gin_batch_norm", {{"model.name", "gin"}, {"model.norm", "batch"}, {"model.dropout", "0.3"}}, {5, 2}},
      {"seldom_evaluated", {{"train.eval_every", "5"}}, {3, 1, 5}},
      {"ranks", {{"train.ranks", "2"}}, {5, 2}},
      {"ranks_cut_anew", {{"train.ranks", "3"}, {"train.partition", "clusters"}}, {5}},
      {"devices", {{"train.devices", "2"}, {"optim.name", "sgd"}}, {5}},
      {"batches", batches, {3, 14, 1}},
      {"batches_norm_cosine",
       with(batches, {{"model.name", "sage"}, {"model.norm", "batch"}, {"schedule.name", "cosine"}}),
       {17, 2}},
      {"batches_runs", with(batches, {{"train.runs", "2"}, {"train.epochs", "2"}, {"model.name", "gat"}}), {30, 3}},
      {"batches_renamed", with(batches, {{"train.reorder", "degree"}, {"model.name", "gin"}}), {7}},
      {"batches_on_a_device", with(batches, {{"device.name", "sim:uk-sage-b"}}), {3, 14, 1}},
      {"batches_by_the_paper",
       with(batches, {{"device.name", "sim:uk-gcn-b"}, {"device.schedule", "paper"}, {"device.batches", "3"}}),
       {2, 5}},
      {"batches_on_threads", with(batches, {{"device.name", "host:uk-sage-b"}}), {3, 14, 1}},
      {"batches_on_threads_by_chance",
       with(batches, {{"device.name", "host:uk-sage-b"}, {"device.schedule", "coinflip:0.5"}}),
       {11}},
  };
}

class Resume : public ::testing::TestWithParam<Case> {
 protected:
  Resume() : folder_(fs::temp_directory_path() / ("gneiss-resume-" + GetParam().name + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Resume() override { fs::remove_all(folder_); }

  settings::Config config(const fs::path& out) const {
    settings::Config config;
    Settings all = {{"data.name", kGraph},       {"model.name", "gcn"},  {"model.hidden_channels", "8"},
                    {"train.epochs", "12"},      {"train.threads", "2"}, {"train.patience", "0"},
                    {"out.folder", out.string()}};
    for (const auto& [key, value] : GetParam().settings) all[key] = value;
    for (const auto& [key, value] : all) config.set(key, value, settings::Origin::kFlag, "test");
    return config;
  }

  /// The lines of metrics without what a clock said.
  static std::vector<std::string> metrics(const fs::path& run) {
    std::vector<std::string> lines;
    std::istringstream text(read_file(run / "metrics.jsonl"));
    for (std::string line; std::getline(text, line);) {
      Json json = Json::parse(line);
      json.erase("seconds");
      json.erase("eval_seconds");
      lines.push_back(json.dump());
    }
    return lines;
  }

  static Json report(const fs::path& run) {
    Json json = Json::parse(read_file(run / "report.json"));
    Json kept;
    for (const char* key : {"test", "val", "train", "best_epoch", "epochs", "seeds", "losses", "saved_run", "runs",
                            "interrupted", "metric", "parameters"})
      kept[key] = json[key];
    return kept;
  }

  const fs::path folder_;
};

TEST_P(Resume, EndsWithTheSameBytes) {
  const fs::path whole = folder_ / "whole";
  jobs::train(config(whole), {});
  const fs::path run = folder_ / "run";
  int process = 0;
  for (const int stop : GetParam().stops) {
    SCOPED_TRACE(process);
    int asked = 0;
    jobs::JobWatcher watcher;
    watcher.should_stop = [&] { return ++asked >= stop; };
    settings::Config overrides;
    overrides.set("train.threads", std::to_string(1 + process % 3), settings::Origin::kFlag, "--threads");
    const runs::Report stopped =
        process++ == 0 ? jobs::train(config(run), watcher) : jobs::resume(run, overrides, watcher).value();
    ASSERT_TRUE(stopped.interrupted) << "the stops are not all before the end";
    EXPECT_TRUE(stopped.can_go_on);
    EXPECT_TRUE(fs::exists(run / "checkpoint.bin"));
  }
  const auto ended = jobs::resume(run, {}, {});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->warnings, std::vector<std::string>());
  EXPECT_EQ(read_file(run / "model.safetensors"), read_file(whole / "model.safetensors"));
  EXPECT_EQ(metrics(run), metrics(whole));
  EXPECT_EQ(report(run), report(whole));
  EXPECT_EQ(read_file(run / "data.json"), read_file(whole / "data.json"));
  EXPECT_FALSE(fs::exists(run / "checkpoint.bin"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
  EXPECT_FALSE(jobs::resume(run, {}, {}).has_value()) << "it is complete";
}

TEST(PlanHash, KnowsThePlansAndHowLayersAreEvaluated) {
  ir::Plan plan;
  plan.program.name = "one";
  ir::Plan other = plan;
  other.program.name = "other";
  const std::set<std::uint64_t> hashes = {
      jobs::plan_hash(plan, nullptr, ""),     jobs::plan_hash(other, nullptr, ""),
      jobs::plan_hash(plan, &plan, ""),       jobs::plan_hash(plan, &other, ""),
      jobs::plan_hash(plan, &plan, "layers"), jobs::plan_hash(plan, nullptr, "layers")};
  EXPECT_EQ(hashes.size(), 6U);
}

INSTANTIATE_TEST_SUITE_P(Trainings, Resume, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gneiss
