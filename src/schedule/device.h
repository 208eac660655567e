// The border to whatever does the stages of batches: a simulated device, the host, an accelerator.
//
// A stage is begun and ends later; wait() says which have ended. Batches go by the scheduler's numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/scheduler.h"

namespace gneiss::schedule {

/// The work itself, without its time. Called by a device; may throw, and the run then ends with that error. Workers,
/// link and device may call at the same time, each for other batches.
class Work {
 public:
  virtual ~Work() = default;
  virtual void prepare_on_cpu(std::int64_t batch, int worker) = 0;  ///< samples and gathers into a slab of main memory
  virtual std::int64_t copy(std::int64_t batch) = 0;                ///< the slab to the device's memory; bytes of it
  virtual void prepare_on_device(std::int64_t batch) = 0;           ///< samples and gathers into the device's memory
  virtual void train(std::int64_t batch) = 0;                       ///< a step
};

class Device {
 public:
  virtual ~Device() = default;
  /// Begins a stage. A step of a batch that is being copied begins when the copy has ended. Errors: kInternal if the
  /// batch is not where the stage needs it, so that nobody ever waits for what was not begun.
  virtual void start(const Command& stage) = 0;
  /// Waits until at least one stage has ended, and gives all that have, in a fixed order. Errors: kInternal if none was
  /// begun; the work's.
  virtual void wait(std::vector<Command>* ended) = 0;
  virtual Nanoseconds now() const = 0;
};

}  // namespace gneiss::schedule
