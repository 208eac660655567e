// A run that somebody looks at after every step, and may stop there.
#pragma once

#include <functional>
#include <utility>

#include "schedule/scheduler.h"

namespace gneiss::schedule {

/// Commands as another commander gives them. When asked to stop after a step, what has begun comes to its end and
/// nothing else begins, so that the device is free for another run.
class Watched final : public Commander {
 public:
  /// Told of each step that has ended, by whoever runs the schedule; true stops.
  using AfterStep = std::function<bool()>;

  /// `commander` must outlive this.
  Watched(Commander* commander, AfterStep after) : commander_(*commander), after_(std::move(after)) {}

  Command next() override;
  void finished(const Command& stage) override;
  const State& state() const override { return commander_.state(); }

 private:
  Commander& commander_;
  AfterStep after_;
  bool stops_ = false;
};

}  // namespace gneiss::schedule
