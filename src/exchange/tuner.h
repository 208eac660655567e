// Finds the numbers of the fine-grained exchange while a training runs: each iteration is a timing of one setting.
//
// One number is moved at a time, the one that matters most first. A setting is judged by the median of its timings, and
// a move is kept only if it gains more than noise. What was timed is looked up, never timed twice.
// Source: MGG (OSDI 2023), section 4. Its order (pieces, dist, warps, from 1 each) is kPaper; its own published points
// depend on piece * dist alone, and on warps most, hence the order of kOurs.
#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "exchange/resources.h"

namespace gneiss::exchange {

enum class TunerOrder { kOurs, kPaper };

struct TunerOptions {
  TunerOrder order = TunerOrder::kOurs;
  int timings = 5;     ///< of a setting; their median counts
  double gain = 0.03;  ///< that a move must bring
  int trials = 16;     ///< settings that are timed at most
};

class Tuner {
 public:
  /// Can a setting be launched? See resources_of.
  using Allowed = std::function<bool(const Tuning&)>;

  /// `mean_degree`: of the graph; kOurs begins with pieces of about that length.
  /// Errors: kInternal if the first setting cannot be launched with any number of warps.
  Tuner(double mean_degree, Allowed allowed, TunerOptions options = {});
  /// Begins with `first`, or with fewer warps where that cannot be launched.
  Tuner(const Tuning& first, Allowed allowed, TunerOptions options = {});

  /// The setting that the next iteration runs with.
  const Tuning& current() const { return current_; }
  /// What that iteration took.
  void record(double seconds);

  /// Has the search ended? current() is its result then, and what is recorded counts no more.
  bool done() const { return done_; }
  /// The median of a setting's timings; 0 if it was not timed.
  double median(const Tuning& tuning) const;
  /// Settings that were timed.
  int trials() const { return static_cast<int>(medians_.size()); }

 private:
  using Key = std::tuple<int, int, int, int>;
  static Key key(const Tuning& t) { return {t.piece, t.dist, t.warps, t.stages}; }
  friend class Search;
  void begin();

  Allowed allowed_;
  TunerOptions options_;
  Tuning first_;
  Tuning current_;
  std::vector<double> timings_;  ///< of current_
  std::map<Key, double> medians_;
  bool done_ = false;
};

}  // namespace gneiss::exchange
