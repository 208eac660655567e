// One line on a terminal: run, epoch, loss, scores and the time that is left.
#pragma once

#include <chrono>
#include <deque>
#include <string>

#include "gneiss/train.h"

namespace gneiss::app {

class ProgressBar {
 public:
  /// Draws only if stderr is a terminal and `quiet` is not set. No colour when NO_COLOR is set.
  explicit ProgressBar(bool quiet);
  ~ProgressBar();

  void start(const TrainingStart& start);
  void update(const EpochProgress& epoch);
  /// Removes the line.
  void clear();

 private:
  double seconds_left(const EpochProgress& epoch);

  bool shown_ = false;
  bool colour_ = false;
  TrainingStart start_;
  std::deque<double> recent_;  ///< seconds of the last epochs
  double last_val_ = 0;
  double last_test_ = 0;
  bool scored_ = false;
  std::chrono::steady_clock::time_point last_draw_;
};

/// "81.53 %" for scores that are shares, plain for errors of a regression.
std::string format_score(const std::string& metric, double value);

}  // namespace gneiss::app
