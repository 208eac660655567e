// The folder that a training leaves: config.yaml, metrics.jsonl, model.gneiss, model.safetensors, report.json.
//
// It is written beside its final place under a name that says so and renamed when complete: a failure leaves no folder,
// and a folder that exists is whole. metrics.jsonl grows while training runs, one line an epoch, without allocating.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "epochs/records.h"

namespace gneiss::runs {

class RunFolder {
 public:
  /// Begins a folder that will stand at `path`. Errors: kUsage if something is there (unless `force` and it is a run
  /// folder); kDisk.
  RunFolder(std::filesystem::path path, bool force);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();  ///< removes what was not committed

  /// Appends a line to metrics.jsonl: run, epoch, loss, lr, seconds, and scores if the epoch was evaluated.
  void add_epoch(std::int64_t run, const epochs::EpochRecord& epoch) noexcept;
  /// Writes a file of the folder.
  void write(std::string_view name, std::string_view content);
  /// Makes the folder durable and puts it in its place. Errors: kDisk, also for a line of metrics.jsonl that failed.
  void commit();

  const std::filesystem::path& path() const { return path_; }

 private:
  void begin();
  void discard() noexcept;

  std::filesystem::path path_;
  std::filesystem::path staging_;
  std::FILE* metrics_ = nullptr;
  bool force_ = false;
  std::vector<std::filesystem::path> made_parents_;  ///< folders that were not there, the innermost first
  bool committed_ = false;
};

/// runs/DATA_MODEL, or the first runs/DATA_MODEL_2, _3, … that is free.
std::filesystem::path default_run_folder(std::string_view dataset, std::string_view model);

/// True if `path` holds a run: config.yaml and model.safetensors.
bool is_run_folder(const std::filesystem::path& path);

}  // namespace gneiss::runs
