// Sums over the ranks that go on behind other work.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "comm/communicator.h"

namespace gneiss::comm {

/// Sums that were started and not waited for, in order. A communicator takes few calls at a time: where there are
/// already some, the oldest is waited for first.
class OpenSums {
 public:
  template <class T>
  void start(Communicator* communicator, std::span<T> values) {
    if (count_ == kMost) {
      communicator->wait(requests_[first_]);
      first_ = (first_ + 1) % kMost;
      --count_;
    }
    requests_[(first_ + count_++) % kMost] = communicator->start_sum(values);
  }

  /// Until all are through.
  void finish(Communicator* communicator) {
    for (; count_ > 0; --count_) {
      communicator->wait(requests_[first_]);
      first_ = (first_ + 1) % kMost;
    }
  }

 private:
  static constexpr std::size_t kMost = 16;

  std::array<Request, kMost> requests_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace gneiss::comm
