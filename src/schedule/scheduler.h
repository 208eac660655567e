// Which stage of which batch begins next: one state machine that plans, predicts and runs.
//
// The scheduler has no clock, thread or lock. It is asked for a command, told when a stage has ended, and asked again;
// whether a simulated or a real device does the work makes no difference to it. A simulation and a run of the same plan
// with the same times are therefore the same sequence of commands.
//
// kPaper is Dual-Buffer Scheduling [zhang2026morphgl, Alg. 1-4], told by resources that are free instead of calls that
// block:
//   filling   the device prepares Route 1 batches until its buffer holds gbs; the CPU fills its buffer meanwhile
//   blocking  the device's buffer is full and the CPU's holds fewer than cbs: wait, or train one and prepare one
//   flushing  both are full: a step of the head of the device's buffer, beside it the next of cbs copies, until the
//             device's buffer is empty
// At the end of either iterator the rest goes through as a pipeline.
//
// kBest has no fixed ratio. The CPU takes from the common queue up to its share; the device fills its buffer while no
// CPU batch is at hand and flushes when the buffer is full, when `cbs` CPU batches wait, or when Route 1 has none left.
// A flush ends with the CPU batches at hand or after `copies` of them: where copies are what takes long, steps last as
// long as a few of them, and Route 1 then refills the device's buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/plan.h"

namespace gneiss::schedule {

enum class Action : std::uint8_t { kPrepareOnCpu, kCopy, kPrepareOnDevice, kTrain, kWait, kFinished };
std::string_view action_name(Action action);

struct Command {
  Action action = Action::kWait;
  std::int64_t batch = -1;  ///< by the order in which batches are taken from the queue, from 0

  bool operator==(const Command&) const = default;
};

/// First in, first out, in a fixed piece of memory.
class BatchQueue {
 public:
  explicit BatchQueue(std::int64_t room) : items_(static_cast<std::size_t>(room)) {}
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t front() const { return items_[static_cast<std::size_t>(first_)]; }
  void push(std::int64_t batch);
  std::int64_t pop();
  bool contains(std::int64_t batch) const;
  /// Takes a batch out, wherever it is. Errors: kInternal if it is not there.
  void remove(std::int64_t batch);

 private:
  std::size_t place(std::int64_t offset) const;

  std::vector<std::int64_t> items_;
  std::int64_t first_ = 0;
  std::int64_t size_ = 0;
};

/// What has begun and what has ended.
struct State {
  std::int64_t taken_cpu = 0;  ///< from the queue
  std::int64_t taken_device = 0;
  std::int64_t in_work = 0;  ///< of the CPU's workers
  BatchQueue host;           ///< prepared by the CPU, not yet on the way
  BatchQueue device;         ///< on the device or on the way by copy, not yet in a step
  std::int64_t copying = -1;
  std::int64_t preparing = -1;  ///< on the device
  std::int64_t training = -1;
  std::int64_t trained = 0;
  bool flushing = false;
  std::int64_t to_copy = 0;   ///< CPU batches of this flush that have not been copied
  std::int64_t overlaps = 0;  ///< flushes so far
};

/// Moves a batch whose stage has ended. Errors: kInternal for one that has not begun.
void note_end(const Command& stage, State* state);

/// Says what begins next: by deciding (Scheduler) or from a record (schedule/replay.h).
class Commander {
 public:
  virtual ~Commander() = default;
  /// What shall begin now. kWait: nothing before a stage ends; kFinished: all batches are trained.
  virtual Command next() = 0;
  /// A stage that next() asked for has ended. Errors: kInternal for one that has not begun.
  virtual void finished(const Command& stage) = 0;
  virtual const State& state() const = 0;
};

class Scheduler final : public Commander {
 public:
  explicit Scheduler(const Plan& plan);

  Command next() override;
  void finished(const Command& stage) override { note_end(stage, &state_); }
  const State& state() const override { return state_; }

 private:
  Command paper();
  Command best();
  Command pipeline();
  Command coin_flip();
  bool link_is_free() const;
  bool device_is_free() const;
  bool worker_is_free() const;
  bool cpu_has_ended() const;
  Command prepare_on_cpu();
  Command prepare_on_device();
  Command copy();
  Command train();

  const Plan& plan_;
  State state_;
};

}  // namespace gneiss::schedule
