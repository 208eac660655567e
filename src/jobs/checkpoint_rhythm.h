// When a training keeps a checkpoint.
#pragma once

#include <chrono>
#include <cstdint>

#include "settings/config.h"

namespace gneiss::jobs {

/// `--checkpoint-every`: after so many steps, or so much time.
class CheckpointRhythm {
 public:
  /// Errors: kUsage for a text that is neither a number of steps nor a time, and where there is no run folder.
  explicit CheckpointRhythm(const settings::Config& config);

  /// Asked after every step: is it time?
  bool is_due();

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t every_ = 0;  ///< steps; 0: by time
  double seconds_ = 0;      ///< 0: by steps, or never
  std::int64_t steps_ = 0;  ///< since the last one
  Clock::time_point last_ = Clock::now();
};

}  // namespace gneiss::jobs
