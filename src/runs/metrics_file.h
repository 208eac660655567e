// metrics.jsonl of a run folder: one line an epoch. It grows while training runs, without allocating.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "epochs/records.h"

namespace gneiss::runs {

/// How much of the file there is, and its hash.
struct MetricsEnd {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
};

/// The epochs of a run, in the order of the file.
struct RunEpochs {
  std::int64_t run = 0;
  std::vector<epochs::EpochRecord> epochs;
};

class MetricsFile {
 public:
  /// A new file. Errors: kDisk.
  explicit MetricsFile(const std::filesystem::path& path);
  /// One that is there, cut back to `end`. Errors: kUsage if a training is writing to it; kBadData if it does not begin
  /// with what `end` says; kDisk.
  MetricsFile(const std::filesystem::path& path, const MetricsEnd& end);
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  ~MetricsFile();

  /// Appends run, epoch, loss, lr, seconds, and scores if the epoch was evaluated. Lines that a full disk does not take
  /// wait for room.
  void add(std::int64_t run, const epochs::EpochRecord& epoch) noexcept;
  /// Makes the lines durable and says how far they go. Errors: kDisk; the next call tries again.
  MetricsEnd sync();
  /// The last sync().
  void close();

 private:
  bool write_waiting();

  std::filesystem::path path_;
  int file_ = -1;
  std::string waiting_;  ///< lines that are not in the file yet
  MetricsEnd end_;       ///< with these lines
};

/// The lines up to `end`. Errors: kBadData as MetricsFile, and for lines that it did not write.
std::vector<RunEpochs> read_metrics(const std::filesystem::path& path, const MetricsEnd& end);

/// Is a training writing to the file?
bool is_being_written(const std::filesystem::path& path);

}  // namespace gneiss::runs
