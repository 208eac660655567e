// A device of virtual time: the stages cost what a profile says, whatever the host that simulates it needs for them.
//
// CPU workers are so many servers, each of which takes workers * T_CBT for a batch. Copies take the whole link, steps
// the whole device. A Route 1 batch takes its shares of both; what else runs meanwhile goes slower by them, and not at
// all beside a share of one. Time is counted in integer nanoseconds. With work the stages are done on the host when
// they begin; without it nothing is done (a dry run).
//
// It refuses what a real device would answer with wrong results: a stage of a batch that is not there, more stages than
// a resource holds, more batches in a buffer than its bound.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/device.h"

namespace gneiss::schedule {

/// Bounds that the simulated memory has; see Plan.
struct Room {
  std::int64_t host_slabs = 0;
  std::int64_t device_slabs = 0;  ///< ready or on the way; one more is in the step
};

class SimDevice : public Device {
 public:
  /// `profile` and `work` must outlive this; no `work`: a dry run. `seed` is of the variation of times.
  SimDevice(const Profile& profile, const Plan& plan, Work* work = nullptr, std::uint64_t seed = 0);

  void start(const Command& stage) override;
  void wait(std::vector<Command>* ended) override;
  Nanoseconds now() const override { return now_; }

 private:
  enum class Place : std::uint8_t { kNowhere, kInWork, kHost, kCopying, kDevice, kStep, kDone };
  struct Job {
    std::int64_t batch = -1;
    double left = 0;  ///< nanoseconds of work at full speed
    bool idle() const { return batch < 0; }
  };

  Nanoseconds duration(Action action, std::int64_t batch) const;
  void work(const Command& stage, int worker);
  void move(std::int64_t batch, Place from, Place to);
  void put(Job* job, const Command& stage, const char* resource);
  double copy_speed() const;
  double train_speed() const;
  void end(Job* job, Action action, std::vector<Command>* ended);

  const Profile& profile_;
  Work* work_;
  std::uint64_t seed_;
  Room room_;
  Nanoseconds now_ = 0;
  std::vector<Place> places_;
  std::vector<Job> workers_;
  Job copy_;
  Job prepare_;
  Job train_;
  std::int64_t on_host_ = 0;
  std::int64_t on_device_ = 0;
};

}  // namespace gneiss::schedule
