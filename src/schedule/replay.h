// A schedule carried out again where stages take other times than those it was made with.
//
// Each resource keeps the order of its stages: workers take batches as they did, link and device do theirs in the
// recorded order, and whoever is early waits. So steps come in the planned order on any device, and a training has the
// same bits whatever its times. There is always a stage that can begin, because the recorded order is one in which all
// could.
#pragma once

#include <vector>

#include "schedule/scheduler.h"

namespace gneiss::schedule {

class Replay : public Commander {
 public:
  /// `commands`: as a scheduler gave them for this plan (Record::commands).
  Replay(const Plan& plan, const std::vector<Command>& commands);

  Command next() override;
  void finished(const Command& stage) override;
  const State& state() const override { return state_; }

 private:
  struct Track {
    std::vector<Command> stages;
    std::size_t at = 0;
    const Command* head() const { return at < stages.size() ? &stages[at] : nullptr; }
  };

  const Plan& plan_;
  State state_;
  Track cpu_;
  Track link_;    ///< copies, and batches that the device prepares
  Track device_;  ///< steps, and the same
};

}  // namespace gneiss::schedule
