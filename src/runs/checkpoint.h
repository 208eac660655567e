// The file that an interrupted training goes on from: RUN/checkpoint.bin.
//
// Layout, little-endian: "GNEISSCP"; u32 version of the format; u32 bytes of the header; u64 bytes of the file; the
// header, JSON; f32 arrays one after the other, whose sizes the header names; u64 hash of all before it. It is written
// whole or not at all, so that the file before it stays until this one is good. Epochs are not in it but in
// metrics.jsonl, of which it knows how much belongs to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epochs/position.h"
#include "epochs/records.h"
#include "minibatch/batch.h"
#include "runs/metrics_file.h"

namespace gneiss::runs {

/// The name of the file in a run folder.
inline constexpr std::string_view kCheckpointName = "checkpoint.bin";

/// What a training goes on from, besides its arrays.
struct Checkpoint {
  std::uint64_t training = 0;    ///< a number drawn when it began: all of its checkpoints have it
  std::string version;           ///< of the gneiss that wrote it
  std::string settings;          ///< as a run file
  std::string defaults;          ///< the line about those that were chosen for the data
  std::uint64_t model_hash = 0;  ///< of the model's text
  std::uint64_t data_hash = 0;
  std::uint64_t plan_hash = 0;
  std::string node_order;                  ///< how nodes were put in order
  std::int64_t run = 0;                    ///< under way, from 0
  epochs::Position position;               ///< in that run
  std::vector<epochs::RunRecord> records;  ///< of the runs before and of this one, without their epochs
  std::int64_t saved_run = 0;              ///< the best of the runs before
  std::string facts;                       ///< data.json of that run
  std::int64_t optimizer_steps = 0;
  minibatch::BatchShape room;  ///< of the plan over blocks
  MetricsEnd metrics;
};

/// The arrays of a checkpoint, in the order of the file.
template <class Array>
struct CheckpointArrays {
  Array values, states, first, second;  ///< parameters, running statistics, what the optimizer remembers
  Array best;                           ///< snapshot of this run's best epoch
  Array saved;                          ///< of the best run before
};

struct LoadedCheckpoint {
  Checkpoint at;
  CheckpointArrays<std::vector<float>> arrays;
};

/// Writes the file in the place of the one before it. Errors: kDisk; the file before is as it was then.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& at,
                      const CheckpointArrays<std::span<const float>>& arrays);

/// Errors: kBadData for a file that is no checkpoint, of another version of the format, cut off, longer than it says
/// or changed.
LoadedCheckpoint read_checkpoint(const std::filesystem::path& path);

/// Does `a` stand behind `b` in the same training?
bool is_further(const Checkpoint& a, const Checkpoint& b);

}  // namespace gneiss::runs
