// The search is a function of the settings that were timed: it is run anew after each, over the table, and stops at the
// first setting that it asks for and that is not there. That one is timed next.
#include "exchange/tuner.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace gneiss::exchange {

class Search {
 public:
  explicit Search(const Tuner& tuner) : tuner_(tuner), best_(tuner.first_) {}

  /// The setting to be timed next, or none: best() is the result.
  std::optional<Tuning> run() {
    seconds_ = look_up(best_);
    if (tuner_.options_.order == TunerOrder::kPaper) {
      as_the_paper();
    } else {
      for (Tuning last{0}; !(last == best_);) {  // what one number allows may have changed with another
        last = best_;
        climb([](const Tuning& t, bool up) { return with(t, &Tuning::warps, up); });
        climb(other_length);
        climb([](const Tuning& t, bool up) { return with(t, &Tuning::stages, up); });
      }
    }
    return wanted_;
  }
  const Tuning& best() const { return best_; }

 private:
  static Tuning with(Tuning tuning, int Tuning::*number, bool up) {
    tuning.*number = up ? tuning.*number * 2 : tuning.*number / 2;
    return tuning;
  }

  /// piece * dist doubled or halved: pieces first, since they are what is balanced.
  static Tuning other_length(const Tuning& tuning, bool up) {
    const bool pieces = up ? tuning.piece < kMostTuning.piece : tuning.dist == 1;
    return with(tuning, pieces ? &Tuning::piece : &Tuning::dist, up);
  }

  double look_up(const Tuning& tuning) {
    const auto found = tuner_.medians_.find(Tuner::key(tuning));
    if (found != tuner_.medians_.end()) return found->second;
    if (!wanted_ && tuner_.trials() < tuner_.options_.trials) wanted_ = tuning;
    return HUGE_VAL;
  }

  /// Goes there if it can be launched and is better by more than `gain`.
  bool improves(const Tuning& candidate, double gain) {
    if (wanted_ || !tuner_.allowed_(candidate)) return false;
    const double seconds = look_up(candidate);
    if (seconds >= seconds_ * (1 - gain)) return false;
    best_ = candidate;
    seconds_ = seconds;
    return true;
  }

  /// Up while it gets better, and down while that does: a number may have a valley on both sides.
  template <class Move>
  void climb(const Move& move) {
    const Tuning start = best_;
    const double start_seconds = seconds_;
    walk(move, true);
    const Tuning above = best_;
    const double above_seconds = seconds_;
    best_ = start;
    seconds_ = start_seconds;
    walk(move, false);
    if (above_seconds > seconds_) return;
    best_ = above;
    seconds_ = above_seconds;
  }
  /// Over one step that does not help, if the next one does.
  template <class Move>
  void walk(const Move& move, bool up) {
    for (;;) {
      const Tuning next = move(best_, up);
      if (improves(next, tuner_.options_.gain)) continue;
      if (wanted_ || !improves(move(next, up), tuner_.options_.gain)) return;
    }
  }

  /// Each number up until it gets worse; then shorter pieces and more warps while that helps.
  void as_the_paper() {
    for (int Tuning::*const number : {&Tuning::piece, &Tuning::dist, &Tuning::warps}) {
      while (improves(with(best_, number, true), 0)) {
      }
    }
    while (best_.piece > 1 && improves(with(best_, &Tuning::piece, false), 0)) {
      while (improves(with(best_, &Tuning::warps, true), 0)) {
      }
    }
  }

  const Tuner& tuner_;
  Tuning best_;
  double seconds_ = 0;
  std::optional<Tuning> wanted_;
};

Tuner::Tuner(double mean_degree, Allowed allowed, TunerOptions options)
    : allowed_(std::move(allowed)), options_(options) {
  if (options_.order == TunerOrder::kPaper) {
    first_ = {1, 1, 1, 1};
  } else {
    first_ = {4, 1, 8, 2};
    while (first_.piece < kMostTuning.piece && first_.piece * 1.5 < mean_degree) first_.piece *= 2;
  }
  begin();
}

Tuner::Tuner(const Tuning& first, Allowed allowed, TunerOptions options)
    : allowed_(std::move(allowed)), options_(options), first_(first) {
  begin();
}

double Tuner::median(const Tuning& tuning) const {
  const auto found = medians_.find(key(tuning));
  return found == medians_.end() ? 0 : found->second;
}

void Tuner::begin() {
  while (first_.warps > 1 && !allowed_(first_)) first_.warps /= 2;
  GNEISS_ASSERT(allowed_(first_), "no warp with pieces of {} edges can be launched", first_.piece);
  current_ = first_;
}

void Tuner::record(double seconds) {
  if (done_) return;
  timings_.push_back(seconds);
  if (std::ssize(timings_) < options_.timings) return;
  const auto middle = timings_.begin() + std::ssize(timings_) / 2;
  std::nth_element(timings_.begin(), middle, timings_.end());
  medians_[key(current_)] = *middle;
  timings_.clear();
  Search search(*this);
  const std::optional<Tuning> next = search.run();
  done_ = !next;
  current_ = next ? *next : search.best();
}

}  // namespace gneiss::exchange
