// Finding the checkpoint that a training goes on from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "runs/checkpoint.h"

namespace gneiss::runs {

/// A training that did not end.
struct Unfinished {
  std::filesystem::path run;     ///< where its run folder will stand
  std::filesystem::path folder;  ///< where its checkpoint lies: there, or beside it under a .partial- name
  LoadedCheckpoint checkpoint;
};

/// The training whose run folder stands or will stand at `path`; `path` may also be the .partial- folder itself. Of
/// several checkpoints it is the one that is furthest. None if the training is complete. Errors: kBadData if there is
/// no run, or none that has a checkpoint, and for a checkpoint that is damaged; kUsage if it is still running, and if
/// the checkpoints are of several trainings.
std::optional<Unfinished> find_unfinished(std::filesystem::path path);

/// Does a run folder stand there, of a training that was not interrupted? Errors: kBadData if its report is damaged.
bool is_complete(const std::filesystem::path& run);

/// Does a checkpoint of the training with this number lie in the run folder?
bool is_of_training(const std::filesystem::path& run, std::uint64_t training);

/// The .partial- folders of `run` that hold a checkpoint and that nobody writes to.
std::vector<std::filesystem::path> unfinished_beside(const std::filesystem::path& run);

}  // namespace gneiss::runs
