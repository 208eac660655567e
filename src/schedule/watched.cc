// Between the end of a step and the beginning of the next the weights stand still: one step runs at a time, and the
// next is asked for only after its end was told.
#include "schedule/watched.h"

namespace gneiss::schedule {

Command Watched::next() {
  if (!stops_) return commander_.next();
  const State& now = state();
  const bool under_way = now.in_work > 0 || now.copying >= 0 || now.preparing >= 0 || now.training >= 0;
  return {under_way ? Action::kWait : Action::kFinished};
}

void Watched::finished(const Command& stage) {
  commander_.finished(stage);
  if (stage.action == Action::kTrain && !stops_) stops_ = after_();
}

}  // namespace gneiss::schedule
