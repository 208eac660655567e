// One function for each mode. What is common: workers are kept at work first, since nobody else wants them; a step
// takes its batch from the device's buffer when it begins, which makes the room that a copy may take at that moment.
#include "schedule/scheduler.h"

#include "base/error.h"

namespace gneiss::schedule {

std::string_view action_name(Action action) {
  switch (action) {
    case Action::kPrepareOnCpu:
      return "prepare_on_cpu";
    case Action::kCopy:
      return "copy";
    case Action::kPrepareOnDevice:
      return "prepare_on_device";
    case Action::kTrain:
      return "train";
    case Action::kWait:
      return "wait";
    case Action::kFinished:
      return "finished";
  }
  return "";
}

void BatchQueue::push(std::int64_t batch) {
  GNEISS_ASSERT(size_ < static_cast<std::int64_t>(items_.size()), "batch {} passes the bound of {} of its buffer",
                batch, items_.size());
  const std::int64_t at = first_ + size_;
  const auto room = static_cast<std::int64_t>(items_.size());
  items_[static_cast<std::size_t>(at < room ? at : at - room)] = batch;
  ++size_;
}

std::int64_t BatchQueue::pop() {
  GNEISS_ASSERT(size_ > 0, "a batch is taken from an empty buffer");
  const std::int64_t batch = front();
  if (++first_ == static_cast<std::int64_t>(items_.size())) first_ = 0;
  --size_;
  return batch;
}

std::size_t BatchQueue::place(std::int64_t offset) const {
  return static_cast<std::size_t>((first_ + offset) % static_cast<std::int64_t>(items_.size()));
}

bool BatchQueue::contains(std::int64_t batch) const {
  for (std::int64_t i = 0; i < size_; ++i)
    if (items_[place(i)] == batch) return true;
  return false;
}

void BatchQueue::remove(std::int64_t batch) {
  const std::int64_t size = size_;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t each = pop();
    if (each != batch) push(each);
  }
  GNEISS_ASSERT(size_ + 1 == size, "batch {} is not in the buffer that it is taken from", batch);
}

Scheduler::Scheduler(const Plan& plan)
    : plan_(plan), state_{.host = BatchQueue(plan.host_slabs), .device = BatchQueue(plan.gbs)} {
  GNEISS_ASSERT(
      plan.gbs >= 1 && plan.cbs >= 1 && plan.workers >= 1 && (plan.mode != Mode::kPaper || plan.host_slabs >= plan.cbs),
      "a plan with buffers of {} and {}, {} slabs and {} workers", plan.cbs, plan.gbs, plan.host_slabs, plan.workers);
}

bool Scheduler::link_is_free() const { return state_.copying < 0 && (state_.preparing < 0 || !plan_.uva_alone); }
bool Scheduler::device_is_free() const { return state_.training < 0 && (state_.preparing < 0 || !plan_.uva_alone); }

/// A slab of main memory is free when the copy of its batch has ended.
bool Scheduler::worker_is_free() const {
  return state_.taken_cpu < plan_.cpu_batches && state_.in_work < plan_.workers &&
         state_.in_work + state_.host.size() + (state_.copying >= 0 ? 1 : 0) < plan_.host_slabs;
}

/// Nothing comes from the CPU any more.
bool Scheduler::cpu_has_ended() const { return state_.taken_cpu == plan_.cpu_batches && state_.in_work == 0; }

Command Scheduler::next() {
  if (state_.trained == plan_.batches) return {Action::kFinished};
  if (worker_is_free()) return prepare_on_cpu();
  switch (plan_.mode) {
    case Mode::kPaper:
      return paper();
    case Mode::kBest:
      return best();
    case Mode::kCoinFlip:
      return coin_flip();
    case Mode::kCpu:
    case Mode::kDevice:
      break;
  }
  return pipeline();
}

Command Scheduler::paper() {
  const bool device_has_ended = state_.taken_device == plan_.device_batches();
  if (!state_.flushing) {
    const bool ended = device_has_ended || (cpu_has_ended() && state_.host.size() < plan_.cbs);
    if (ended) return pipeline();
    if (state_.device.size() < plan_.gbs)
      return link_is_free() && device_is_free() && state_.preparing < 0 ? prepare_on_device() : Command{};
    if (state_.preparing >= 0) return {};
    if (state_.host.size() < plan_.cbs) return plan_.train_while_waiting && device_is_free() ? train() : Command{};
    state_.flushing = true;
    state_.to_copy = plan_.cbs;
    ++state_.overlaps;
  }
  if (device_is_free() && !state_.device.empty()) return train();
  if (state_.to_copy > 0 && link_is_free() && state_.device.size() < plan_.gbs) {
    --state_.to_copy;
    return copy();
  }
  if (state_.device.empty() && state_.to_copy == 0 && state_.training < 0) {
    state_.flushing = false;
    return next();
  }
  return {};
}

/// Steps and copies as they can be had; a batch of Route 1 only where both device and link have nothing else.
Command Scheduler::pipeline() {
  if (device_is_free() && !state_.device.empty()) return train();
  if (link_is_free() && !state_.host.empty() && state_.device.size() < plan_.gbs) return copy();
  const bool none_ready = state_.device.empty() && state_.host.empty() && state_.training < 0;
  if (state_.taken_device < plan_.device_batches() && none_ready && state_.copying < 0 && state_.preparing < 0)
    return prepare_on_device();
  return {};
}

Command Scheduler::best() {
  const bool route1_left = state_.taken_device < plan_.device_batches();
  const bool room = state_.device.size() + (state_.preparing >= 0 ? 1 : 0) < plan_.gbs;
  if (state_.flushing) {
    const bool copied = state_.host.empty() || state_.to_copy == 0;
    if (route1_left && room && copied && state_.copying < 0) state_.flushing = false;
  } else if (!route1_left || !room || state_.host.size() >= plan_.cbs) {
    state_.flushing = true;
    state_.to_copy = plan_.copies > 0 && route1_left ? plan_.copies : plan_.batches;
    ++state_.overlaps;
  }
  const bool uva_can =
      route1_left && room && state_.preparing < 0 && (!plan_.uva_alone || (state_.copying < 0 && state_.training < 0));
  if (!plan_.uva_alone) {
    // A batch that the device prepared during a copy is ready before that.
    if (state_.device.size() > 1 && state_.device.front() == state_.copying) state_.device.push(state_.device.pop());
    const bool ready = !state_.device.empty() && state_.device.front() != state_.copying;
    if (device_is_free() && ready) return train();
    if (link_is_free() && !state_.host.empty() && room) return copy();
    return uva_can ? prepare_on_device() : Command{};
  }
  if (!state_.flushing) return uva_can ? prepare_on_device() : Command{};
  const bool copies_left = !state_.host.empty() && (state_.to_copy > 0 || !route1_left);
  if (link_is_free() && copies_left && room) {
    --state_.to_copy;
    return copy();
  }
  // The last copy at hand is under way: a step now may keep the link waiting for the device.
  const bool hold =
      plan_.uva_first && route1_left && room && state_.copying >= 0 && !copies_left && state_.training < 0;
  if (!hold && device_is_free() && !state_.device.empty()) return train();
  return {};
}

/// Each step prepares its batch on demand; only the CPU's batches were made before.
Command Scheduler::coin_flip() {
  if (state_.training >= 0 || state_.copying >= 0 || state_.preparing >= 0) return {};
  if (!state_.device.empty()) return train();
  if (!plan_.cpu_routes[static_cast<std::size_t>(state_.trained)]) return prepare_on_device();
  return state_.host.empty() ? Command{} : copy();
}

Command Scheduler::prepare_on_cpu() {
  ++state_.in_work;
  ++state_.taken_cpu;
  return {Action::kPrepareOnCpu, state_.taken_cpu + state_.taken_device - 1};
}

Command Scheduler::prepare_on_device() {
  ++state_.taken_device;
  state_.preparing = state_.taken_cpu + state_.taken_device - 1;
  return {Action::kPrepareOnDevice, state_.preparing};
}

Command Scheduler::copy() {
  state_.copying = state_.host.pop();
  state_.device.push(state_.copying);
  return {Action::kCopy, state_.copying};
}

Command Scheduler::train() {
  state_.training = state_.device.pop();
  return {Action::kTrain, state_.training};
}

void note_end(const Command& stage, State* state) {
  const auto end = [&](std::int64_t* running) {
    GNEISS_ASSERT(*running == stage.batch, "{} of batch {} ended, which had not begun", action_name(stage.action),
                  stage.batch);
    *running = -1;
  };
  switch (stage.action) {
    case Action::kPrepareOnCpu:
      GNEISS_ASSERT(state->in_work > 0, "batch {} came from a worker that had none", stage.batch);
      --state->in_work;
      state->host.push(stage.batch);
      break;
    case Action::kCopy:
      end(&state->copying);
      break;
    case Action::kPrepareOnDevice:
      end(&state->preparing);
      state->device.push(stage.batch);
      break;
    case Action::kTrain:
      end(&state->training);
      ++state->trained;
      break;
    default:
      GNEISS_ASSERT(false, "{} ended, which is no stage", action_name(stage.action));
  }
}

}  // namespace gneiss::schedule
