// A device made of threads: workers, a link and a second processor that really run beside each other.
//
// Each CPU worker is a thread, the link is a thread that copies, and the device is a thread that prepares Route 1
// batches and trains. Times are measured, so that schedules can be tried on any machine with a few cores. A limited
// link holds back each copy until its bytes would have passed. Errors of the work reach whoever waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "schedule/device.h"

namespace gneiss::schedule {

class HostDevice : public Device {
 public:
  /// `work` must outlive this and bear that workers, link and device call it at the same time, each for other batches.
  /// `link_bytes_per_second`: 0 is as fast as memory.
  HostDevice(Work* work, int workers, double link_bytes_per_second = 0);
  /// Ends the threads, after the stages that they are in.
  ~HostDevice() override;
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  void start(const Command& stage) override;
  void wait(std::vector<Command>* ended) override;
  Nanoseconds now() const override;

 private:
  /// Stages of one resource, done in the order in which they were begun.
  struct Queue {
    std::deque<Command> stages;
    std::condition_variable filled;
  };

  void serve(Queue* queue, int worker);
  void perform(const Command& stage, int worker);
  Queue& queue_of(Action action);

  Work* work_;
  double link_bytes_per_second_;
  Nanoseconds start_;
  std::mutex mutex_;
  Queue cpu_;
  Queue link_;
  Queue device_;
  std::condition_variable something_ended_;
  std::condition_variable copied_;
  std::vector<Command> ended_;
  std::set<std::int64_t> on_the_way_;  ///< copies that have begun and not ended
  std::int64_t under_way_ = 0;         ///< stages begun and not yet given to wait()
  std::exception_ptr error_;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace gneiss::schedule
