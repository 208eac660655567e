// The folder that a training leaves: config.yaml, metrics.jsonl, model.gneiss, model.safetensors, report.json and
// data.json; init.safetensors too, where weights to begin with were given.
//
// It is written beside its final place under a .partial- name and renamed when complete: a folder that exists is whole.
// A failure leaves nothing, unless there was a checkpoint: then the .partial- folder stays, to go on from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "epochs/records.h"
#include "runs/checkpoint.h"
#include "runs/metrics_file.h"
#include "runs/unfinished.h"

namespace gneiss::runs {

class RunFolder {
 public:
  /// Begins a folder that will stand at `path`. Errors: kUsage if something is there (unless `force` and it is a run
  /// folder); kDisk.
  RunFolder(std::filesystem::path path, bool force);
  /// Goes on with the folder of a training that did not end; its metrics are cut back to what the checkpoint knows.
  /// Errors: kUsage if the folder is another training's by now (unless `force`); as MetricsFile.
  RunFolder(const Unfinished& unfinished, bool force);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();  ///< removes what was not committed and has no checkpoint

  /// Appends a line to metrics.jsonl.
  void add_epoch(std::int64_t run, const epochs::EpochRecord& epoch) noexcept;
  /// Writes a file of the folder.
  void write(std::string_view name, std::string_view content);
  /// Writes the checkpoint, `at` completed by the lines of metrics.jsonl so far. Errors: kDisk; the one before is as it
  /// was then.
  void checkpoint(Checkpoint at, const CheckpointArrays<std::span<const float>>& arrays);
  /// Makes the folder durable and puts it in its place; of a complete training the checkpoint goes. Errors: kDisk, also
  /// where lines of metrics.jsonl still find no room.
  void commit(bool complete = true);

  /// Is there something to go on from, should this end here?
  bool has_checkpoint() const { return has_checkpoint_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  void begin();
  void discard() noexcept;
  void put_in_place();

  std::filesystem::path path_;
  std::filesystem::path staging_;
  std::optional<MetricsFile> metrics_;
  bool force_ = false;
  std::vector<std::filesystem::path> made_parents_;  ///< folders that were not there, the innermost first
  bool has_checkpoint_ = false;                      ///< in the staging folder, or the folder that it is to replace
  bool committed_ = false;
};

/// runs/DATA_MODEL, or the first runs/DATA_MODEL_2, _3, … that is free.
std::filesystem::path default_run_folder(std::string_view dataset, std::string_view model);

/// The weights in it.
inline constexpr const char* kModelFile = "model.safetensors";

/// True if `path` holds a run: config.yaml and the weights.
bool is_run_folder(const std::filesystem::path& path);

}  // namespace gneiss::runs
