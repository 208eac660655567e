// The checkpoint file: everything comes back to the last bit, and nothing but the whole file is read.
#include "runs/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "gneiss/error.h"
#include "runs/run_folder.h"
#include "runs/unfinished.h"
#include "support/data_fixtures.h"

namespace gneiss::runs {
namespace {

namespace fs = std::filesystem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class CheckpointFile : public ::testing::Test {
 protected:
  CheckpointFile() : folder_(fs::temp_directory_path() / ("gneiss-checkpoint-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~CheckpointFile() override { fs::remove_all(folder_); }

  static Checkpoint some() {
    Checkpoint at;
    at.training = 0xfedcba9876543210U;
    at.version = "0.3.0";
    at.settings = "train:\n  epochs: 5\n";
    at.defaults = "a \"small\" graph";
    at.model_hash = 0xffffffffffffffffU;
    at.data_hash = 7;
    at.plan_hash = 0x8000000000000000U;
    at.node_order = "clusters";
    at.run = 1;
    at.saved_run = 1;
    at.facts = "{}";
    at.position.epoch.epoch = 3;
    at.position.epoch.seconds = 0.1;
    at.position.sums = {2, 1.0 / 3, 64};
    at.position.stopping = {true, -kInfinity, 0.1 + 0.2, 4};
    at.position.schedule = {0.01, 5e-324, true, 2};
    at.records.resize(2);
    at.records[0].seed = 5;
    at.records[0].best_epoch = 17;
    at.records[0].best = {0.5, kNaN, 1};
    at.records[0].best_val_loss = 1e300;
    at.records[1].stopped_early = true;
    at.optimizer_steps = 12;
    at.room.hops = 2;
    at.room.nodes = {1, 2, 3};
    at.room.edges = {4, 5};
    at.room.bytes = 6;
    at.metrics = {100, 0x8000000000000001U};
    return at;
  }

  fs::path write() const {
    const std::vector<float> values = {1, -0.0F, std::numeric_limits<float>::denorm_min()};
    const std::vector<float> first = {0.1F, 0.2F, 0.3F};
    const std::vector<float> best = {9, 8, 7, 6};
    write_checkpoint(folder_ / kCheckpointName, some(), {values, {}, first, {}, best, best});
    return folder_ / kCheckpointName;
  }

  /// The message with which these bytes are refused; "" if they are not.
  std::string refusal(const std::string& bytes) const {
    const fs::path path = folder_ / "other.bin";
    fs::remove(path);  // thousands of them: no file is replaced, which some file systems would sync
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      read_checkpoint(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadData) << error.what();
      EXPECT_EQ(error.where(), path.string());
      EXPECT_NE(error.hint(), "");
      return error.message();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(CheckpointFile, ComesBackToTheBit) {
  const LoadedCheckpoint loaded = read_checkpoint(write());
  const Checkpoint at = some();
  EXPECT_EQ(loaded.at.training, at.training);
  EXPECT_EQ(loaded.at.version, at.version);
  EXPECT_EQ(loaded.at.settings, at.settings);
  EXPECT_EQ(loaded.at.defaults, at.defaults);
  EXPECT_EQ(loaded.at.model_hash, at.model_hash);
  EXPECT_EQ(loaded.at.data_hash, at.data_hash);
  EXPECT_EQ(loaded.at.plan_hash, at.plan_hash);
  EXPECT_EQ(loaded.at.node_order, at.node_order);
  EXPECT_EQ(loaded.at.run, 1);
  EXPECT_EQ(loaded.at.saved_run, 1);
  EXPECT_EQ(loaded.at.facts, at.facts);
  EXPECT_EQ(loaded.at.optimizer_steps, 12);
  EXPECT_EQ(loaded.at.position.epoch.epoch, 3);
  EXPECT_EQ(loaded.at.position.epoch.seconds, 0.1);
  EXPECT_EQ(loaded.at.position.sums.steps, 2);
  EXPECT_EQ(loaded.at.position.sums.loss, 1.0 / 3);
  EXPECT_EQ(loaded.at.position.sums.seeds, 64);
  EXPECT_TRUE(loaded.at.position.stopping.seen);
  EXPECT_EQ(loaded.at.position.stopping.best_metric, -kInfinity);
  EXPECT_EQ(loaded.at.position.stopping.best_loss, 0.1 + 0.2);
  EXPECT_EQ(loaded.at.position.stopping.without_progress, 4);
  EXPECT_EQ(loaded.at.position.schedule.plateau_lr, 0.01);
  EXPECT_EQ(loaded.at.position.schedule.best, 5e-324);
  EXPECT_TRUE(loaded.at.position.schedule.has_best);
  EXPECT_EQ(loaded.at.position.schedule.bad, 2);
  ASSERT_EQ(loaded.at.records.size(), 2U);
  EXPECT_EQ(loaded.at.records[0].seed, 5U);
  EXPECT_EQ(loaded.at.records[0].best_epoch, 17);
  EXPECT_EQ(loaded.at.records[0].best.train, 0.5);
  EXPECT_TRUE(std::isnan(loaded.at.records[0].best.val));
  EXPECT_EQ(loaded.at.records[0].best.test, 1);
  EXPECT_EQ(loaded.at.records[0].best_val_loss, 1e300);
  EXPECT_FALSE(loaded.at.records[0].stopped_early);
  EXPECT_TRUE(loaded.at.records[1].stopped_early);
  EXPECT_EQ(loaded.at.room, at.room);
  EXPECT_EQ(loaded.at.room.bytes, at.room.bytes);
  EXPECT_EQ(loaded.at.metrics.bytes, at.metrics.bytes);
  EXPECT_EQ(loaded.at.metrics.hash, at.metrics.hash);
  ASSERT_EQ(loaded.arrays.values.size(), 3U);
  EXPECT_TRUE(std::signbit(loaded.arrays.values[1]));
  EXPECT_EQ(loaded.arrays.values[2], std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(loaded.arrays.first, std::vector<float>({0.1F, 0.2F, 0.3F}));
  EXPECT_TRUE(loaded.arrays.states.empty());
  EXPECT_EQ(loaded.arrays.saved, std::vector<float>({9, 8, 7, 6}));
}

TEST_F(CheckpointFile, CutOffAnywhereItIsRefused) {
  const std::string bytes = read_file(write());
  ASSERT_GT(bytes.size(), 500U);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(refusal(bytes.substr(0, size)), "") << size;
  EXPECT_EQ(refusal(bytes), "");
}

TEST_F(CheckpointFile, ChangedAnywhereItIsRefused) {
  const std::string bytes = read_file(write());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    EXPECT_NE(refusal(changed), "") << "byte " << i;
  }
  EXPECT_NE(refusal(bytes + '\0'), "");
}

TEST_F(CheckpointFile, AnotherFormatIsNamed) {
  std::string bytes = read_file(write());
  bytes[8] = 2;
  EXPECT_EQ(refusal(bytes), "a checkpoint of format 2; this gneiss reads format 1");
  EXPECT_EQ(refusal(std::string(100, 'x')), "this is no checkpoint of gneiss");
  EXPECT_EQ(refusal("GNEISSCP"), "a checkpoint cut off after 8 bytes");
}

epochs::EpochRecord epoch_of(std::int64_t number, double loss) {
  epochs::EpochRecord epoch;
  epoch.epoch = number;
  epoch.loss = loss;
  return epoch;
}

TEST_F(CheckpointFile, MetricsAreCutBackToWhatItKnows) {
  const fs::path path = folder_ / "metrics.jsonl";
  MetricsEnd end;
  {
    MetricsFile file(path);
    epochs::EpochRecord first = epoch_of(1, 0.1 + 0.2);
    first.evaluated = true;
    first.val_loss = kNaN;
    first.scores = {1, 0, 0.3};
    file.add(0, first);
    file.add(0, epoch_of(2, 0.5));
    end = file.sync();
    file.add(0, epoch_of(3, 0.25));
    file.close();
  }
  const std::string whole = read_file(path);
  const std::vector<RunEpochs> runs = read_metrics(path, end);
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_EQ(runs[0].epochs.size(), 2U);
  EXPECT_EQ(runs[0].epochs[0].loss, 0.1 + 0.2);
  EXPECT_TRUE(runs[0].epochs[0].evaluated);
  EXPECT_TRUE(std::isnan(runs[0].epochs[0].val_loss));
  EXPECT_EQ(runs[0].epochs[0].scores.test, 0.3);
  EXPECT_FALSE(runs[0].epochs[1].evaluated);
  {
    MetricsFile file(path, end);
    EXPECT_TRUE(is_being_written(path));
    EXPECT_THROW(MetricsFile(path, end), Error) << "two would write to it";
    file.add(0, epoch_of(3, 0.25));
    file.close();
  }
  EXPECT_FALSE(is_being_written(path));
  EXPECT_EQ(read_file(path), whole);
  std::string changed = whole;
  changed[20] = static_cast<char>(changed[20] ^ 1);
  write_file(path, changed);
  EXPECT_THROW(MetricsFile(path, end), Error);
  EXPECT_EQ(read_file(path), changed) << "refused before anything was cut";
  write_file(path, whole.substr(0, end.bytes - 1));
  EXPECT_THROW(MetricsFile(path, end), Error);
}

/// While it lives, no file of the process may grow beyond so many bytes.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int) = signal(SIGXFSZ, SIG_IGN);
  rlimit before_{};
};

/// Rank 0 cuts the file back to where it goes on, and adds lines, while the others read what they go on from.
TEST_F(CheckpointFile, LinesAreReadWhileTheFileIsCutBackToThem) {
  const fs::path path = folder_ / "metrics.jsonl";
  MetricsEnd end;
  {
    MetricsFile file(path);
    for (std::int64_t epoch = 1; epoch <= 20; ++epoch) file.add(0, epoch_of(epoch, 1));
    end = file.sync();
  }
  std::atomic<bool> done = false;
  std::thread cutter([&] {
    const std::string lines(1 << 16, 'x');
    while (!done) {
      std::ofstream(path, std::ios::app) << lines;
      fs::resize_file(path, end.bytes);
    }
  });
  int good = 0;
  for (int i = 0; i < 2000; ++i) {
    try {
      good += read_metrics(path, end).at(0).epochs.size() == 20 ? 1 : 0;
    } catch (const Error& error) {
      ADD_FAILURE() << error.message();
      break;
    }
  }
  done = true;
  cutter.join();
  EXPECT_EQ(good, 2000);
}

TEST_F(CheckpointFile, LinesThatADiskDoesNotTakeWaitForRoom) {
  constexpr std::int64_t kEpochs = 200;
  const auto add_all = [](MetricsFile* file) {
    for (std::int64_t epoch = 2; epoch <= kEpochs; ++epoch) file->add(0, epoch_of(epoch, 1.0 / epoch));
  };
  const fs::path path = folder_ / "metrics.jsonl";
  MetricsFile file(path);
  file.add(0, epoch_of(1, 1));
  const MetricsEnd before = file.sync();
  int failures = 0;
  {
    const FullDisk disk(before.bytes + 100);
    add_all(&file);
    for (int i = 0; i < 2; ++i) {
      try {
        file.sync();
      } catch (const Error& error) {
        failures += error.code() == ErrorCode::kDisk ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(failures, 2);
  const MetricsEnd end = file.sync();
  file.close();
  EXPECT_EQ(read_metrics(path, end).at(0).epochs.size(), static_cast<std::size_t>(kEpochs));
  MetricsFile other(folder_ / "other.jsonl");
  other.add(0, epoch_of(1, 1));
  add_all(&other);
  other.close();
  EXPECT_EQ(read_file(path), read_file(folder_ / "other.jsonl"));
}

/// What a killed training of this number leaves in `folder`, after so many epochs.
void leave(const fs::path& folder, std::uint64_t training, std::int64_t epochs) {
  fs::create_directories(folder);
  MetricsFile metrics(folder / "metrics.jsonl");
  Checkpoint at;
  at.training = training;
  at.position.epoch.epoch = epochs;
  at.records.resize(1);
  at.metrics = metrics.sync();
  write_checkpoint(folder / kCheckpointName, at, {});
}

TEST_F(CheckpointFile, TheFurthestOfATrainingIsFoundAndNoOtherTrainings) {
  const fs::path run = folder_ / "run";
  leave(folder_ / "run.partial-1", 7, 3);
  leave(folder_ / "run.partial-2", 7, 5);
  leave(folder_ / "run.partial-3", 7, 4);
  EXPECT_EQ(find_unfinished(run)->folder, folder_ / "run.partial-2");
  leave(folder_ / "run.partial-4", 8, 1);
  const Error error = gneiss::testing::error_of([&] { find_unfinished(run); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.message(), ::testing::HasSubstr("two trainings were to write this folder"));
  EXPECT_THAT(error.message(), ::testing::HasSubstr("run.partial-4"));
  EXPECT_EQ(find_unfinished(folder_ / "run.partial-4")->checkpoint.at.training, 8U);
}

/// Goes on with what is left there, and puts the run folder in its place.
void finish(const fs::path& partial, bool force, bool interrupted = false) {
  RunFolder folder(*find_unfinished(partial), force);
  folder.write("config.yaml", "");
  folder.write("model.safetensors", "");
  folder.write("report.json", interrupted ? "{\"interrupted\": true}" : "{}");
  folder.commit(!interrupted);
}

TEST_F(CheckpointFile, ARunFolderOfAnotherTrainingStays) {
  leave(folder_ / "run.partial-1", 7, 3);
  finish(folder_ / "run.partial-1", false, true);
  leave(folder_ / "run.partial-1", 8, 9);
  const Unfinished other = *find_unfinished(folder_ / "run.partial-1");
  const Error error = gneiss::testing::error_of([&] { RunFolder(other, false); });
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_THAT(error.hint(), ::testing::HasSubstr("--force"));
  leave(folder_ / "run.partial-2", 7, 9);
  finish(folder_ / "run.partial-2", false);
  finish(folder_ / "run.partial-1", true);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(CheckpointFile, WhatAKilledProcessWasWritingGoes) {
  const fs::path run = folder_ / "run";
  leave(folder_ / "run.partial-1", 7, 3);
  write_file(folder_ / "run.partial-1" / "checkpoint.bin.tmp-1", "half");
  RunFolder(*find_unfinished(run), false).commit();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run)) names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("metrics.jsonl"));
}

}  // namespace
}  // namespace gneiss::runs
