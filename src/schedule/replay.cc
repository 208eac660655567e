// A batch that the device prepares stands on both tracks and begins when it heads both.
#include "schedule/replay.h"

#include "base/error.h"

namespace gneiss::schedule {

Replay::Replay(const Plan& plan, const std::vector<Command>& commands)
    : plan_(plan), state_{.host = BatchQueue(plan.host_slabs), .device = BatchQueue(plan.gbs)} {
  for (const Command& command : commands) {
    switch (command.action) {
      case Action::kPrepareOnCpu:
        cpu_.stages.push_back(command);
        break;
      case Action::kCopy:
        link_.stages.push_back(command);
        break;
      case Action::kPrepareOnDevice:
        link_.stages.push_back(command);
        device_.stages.push_back(command);
        break;
      default:
        device_.stages.push_back(command);
    }
  }
}

Command Replay::next() {
  if (state_.trained == plan_.batches) return {Action::kFinished};
  const std::int64_t in_host = state_.in_work + state_.host.size() + (state_.copying >= 0 ? 1 : 0);
  if (cpu_.head() != nullptr && state_.in_work < plan_.workers && in_host < plan_.host_slabs) {
    ++state_.in_work;
    ++state_.taken_cpu;
    return cpu_.stages[cpu_.at++];
  }
  const bool device_free = state_.training < 0 && state_.preparing < 0;
  const Command* on_device = device_.head();
  if (device_free && on_device != nullptr && on_device->action == Action::kTrain &&
      state_.device.contains(on_device->batch)) {
    state_.device.remove(on_device->batch);
    state_.training = on_device->batch;
    ++device_.at;
    return {Action::kTrain, state_.training};
  }
  const Command* on_link = link_.head();
  const bool link_free = state_.copying < 0 && state_.preparing < 0;
  if (on_link == nullptr || !link_free || state_.device.size() >= plan_.gbs) return {};
  if (on_link->action == Action::kCopy) {
    if (!state_.host.contains(on_link->batch)) return {};
    state_.host.remove(on_link->batch);
    state_.device.push(on_link->batch);
    state_.copying = on_link->batch;
    ++link_.at;
    return {Action::kCopy, state_.copying};
  }
  if (!device_free || on_device == nullptr || *on_device != *on_link) return {};
  state_.preparing = on_link->batch;
  ++state_.taken_device;
  ++link_.at;
  ++device_.at;
  return {Action::kPrepareOnDevice, state_.preparing};
}

void Replay::finished(const Command& stage) { note_end(stage, &state_); }

}  // namespace gneiss::schedule
