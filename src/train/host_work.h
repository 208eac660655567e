// The stages of an epoch's batches done on the host, for a device that only keeps the time.
//
// Main memory and the device's are two sets of slabs: Route 0 fills one of the first, and its copy is one memcpy into
// one of the second; Route 1 fills one of the second. Which batch of the epoch a number of the scheduler's stands for
// is decided by the plan's order of steps: the j-th step trains batch j of the epoch, whatever route it came. Weights
// are therefore those of a training without a device.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "minibatch/batch.h"
#include "schedule/device.h"
#include "schedule/registry.h"

namespace gneiss::train {

class HostWork : public schedule::Work {
 public:
  /// Called with the number of a batch in its epoch, and where it lies or shall lie; `worker` counts CPU workers.
  using Stage = std::function<void(std::int64_t index, int worker, minibatch::Slab* slab)>;
  struct Stages {
    Stage prepare_on_cpu;
    Stage prepare_on_device;
    Stage train;
  };

  /// Room for `host_slabs` batches in main memory and `device_slabs` on the device.
  HostWork(Stages stages, std::int64_t host_slabs, std::int64_t device_slabs);

  /// Begins an epoch in which the scheduler's batches are trained in this order, or what is left of one behind its
  /// `first` batches.
  void start_epoch(std::span<const std::int64_t> order, std::int64_t first = 0);

  void prepare_on_cpu(std::int64_t batch, int worker) override;
  std::int64_t copy(std::int64_t batch) override;
  void prepare_on_device(std::int64_t batch) override;
  void train(std::int64_t batch) override;

  std::int64_t slab_bytes() const;
  /// Of the epoch, by all copies.
  std::int64_t copied_bytes() const { return copied_bytes_; }

  /// The four stages as operators of a machine with the device "Device" and the link "Link". This must outlive them.
  schedule::Registry operators();

 private:
  /// Slabs of one memory, by the batch that each holds.
  class Memory {
   public:
    explicit Memory(std::int64_t slabs);
    minibatch::Slab* take(std::int64_t batch);
    minibatch::Slab* of(std::int64_t batch);
    void free(std::int64_t batch);
    void free_all();
    std::int64_t bytes() const;

   private:
    std::size_t find(std::int64_t batch) const;
    mutable std::mutex mutex_;
    std::vector<minibatch::Slab> slabs_;
    std::vector<std::int64_t> holds_;
  };

  std::int64_t index(std::int64_t batch) const { return index_[static_cast<std::size_t>(batch)]; }

  Stages stages_;
  Memory host_;
  Memory device_;
  std::vector<std::int64_t> index_;
  std::atomic<std::int64_t> copied_bytes_ = 0;
};

/// Names of these operators and what each does: what mini-batches are prepared by here.
std::vector<std::pair<std::string, std::string>> stage_operators();

}  // namespace gneiss::train
