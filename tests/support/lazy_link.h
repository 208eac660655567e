// A rank's link whose time is virtual: its clock is the processor time of the rank's thread and the time that it would
// have waited, so that other programs on the machine do not count.
#pragma once

#include <time.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "train/rank_data.h"
#include "train/session.h"

namespace gneiss::testing {

/// A link of one rank that moves data only inside calls: of the time since the last call, a little.
class LazyLink final : public comm::Communicator {
 public:
  explicit LazyLink(comm::Communicator* inner) : inner_(*inner) {}

  double seconds_per_byte = 0;
  double most_at_a_call = 0;  ///< seconds of transfer that one call moves at most: what buffers hold
  bool driven = true;         ///< else progress moves nothing

  int rank() const override { return inner_.rank(); }
  int ranks() const override { return inner_.ranks(); }
  void abort(const std::string& why) noexcept override { inner_.abort(why); }

  /// Processor time of this thread, and what it would have waited.
  double now() const {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec) + waited_;
  }
  double waited_seconds() const { return waited_; }
  double transfer_seconds() const { return transfers_; }
  double bytes() const { return bytes_; }

 private:
  struct Open {
    comm::Request request;
    double left = 0;
  };

  comm::Request do_start_exchange(comm::RowsByRank<const std::byte> send, comm::RowsByRank<std::byte> receive,
                                  std::int64_t row_bytes) override {
    const std::int64_t kept =
        receive.at[static_cast<std::size_t>(rank()) + 1] - receive.at[static_cast<std::size_t>(rank())];
    return keep(inner_.start_exchange(send, receive, row_bytes), (receive.at.back() - kept) * row_bytes);
  }
  comm::Request do_start_sum(std::span<float> values) override {
    return keep(inner_.start_sum(values), 2 * static_cast<std::int64_t>(values.size_bytes()));
  }
  comm::Request do_start_sum(std::span<double> values) override {
    return keep(inner_.start_sum(values), 2 * static_cast<std::int64_t>(values.size_bytes()));
  }

  comm::Request keep(comm::Request request, std::int64_t bytes) {
    move();
    const double seconds = seconds_per_byte * static_cast<double>(bytes);
    open_.push_back({request, seconds});
    transfers_ += seconds;
    bytes_ += static_cast<double>(bytes);
    return request;
  }

  /// What went over the link since the last call.
  void move() {
    double budget = std::min(now() - last_, most_at_a_call);
    for (Open& open : open_) {
      const double moved = std::min(budget, open.left);
      open.left -= moved;
      budget -= moved;
    }
    last_ = now();
  }

  void do_progress() override {
    if (!driven) return;
    move();
    inner_.progress();
  }

  void do_wait(comm::Request request) override {
    move();
    const auto at = std::find_if(open_.begin(), open_.end(),
                                 [&](const Open& open) { return open.request.number == request.number; });
    for (auto open = open_.begin(); open <= at; ++open) {  // one transfer after the other
      waited_ += open->left;
      open->left = 0;
    }
    open_.erase(at);
    inner_.wait(request);
    last_ = now();
  }

  comm::Communicator& inner_;
  std::vector<Open> open_;
  double waited_ = 0;
  double transfers_ = 0;
  double bytes_ = 0;
  double last_ = 0;
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// A session of one rank and the link that it talks through.
class Side {
 public:
  Side(const train::RankData& here, train::SessionOptions options, bool overlap,
       exchange::Exchange exchange = exchange::Exchange::kHalo)
      : part_(here.part), link_(here.part.communicator) {
    options.overlap = overlap;
    part_.exchange = exchange;
    part_.communicator = &link_;
    session_ = std::make_unique<train::Session<float>>(here.dataset, options, &part_);
    session_->set_up();
  }

  void epoch() {
    const double start = link_.now();
    const double waited = link_.waited_seconds();
    const double transfers = link_.transfer_seconds();
    losses_.push_back(session_->forward_backward(losses_.size() + 1));
    session_->update(0.01);
    waits_.push_back(link_.waited_seconds() - waited);
    computes_.push_back(link_.now() - start - waits_.back());
    transfers_ = link_.transfer_seconds() - transfers;
  }

  LazyLink& link() { return link_; }
  train::Session<float>& session() { return *session_; }
  const std::vector<double>& losses() const { return losses_; }
  double waits() const { return median(waits_); }
  double computes() const { return median(computes_); }
  double transfers() const { return transfers_; }
  void forget_times() {
    waits_.clear();
    computes_.clear();
  }

 private:
  train::RankPart part_;
  LazyLink link_;
  std::unique_ptr<train::Session<float>> session_;
  std::vector<double> losses_;
  std::vector<double> waits_;     ///< of each epoch: for the link,
  std::vector<double> computes_;  ///< and the rest
  double transfers_ = 0;          ///< of the last epoch
};

}  // namespace gneiss::testing
