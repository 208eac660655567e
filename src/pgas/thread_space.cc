// Gets wait in a ring; a thread takes them in order, so that one number says which have come.
//
// A link with a rate makes each get end no earlier than its bytes could have come, one after the other: the copy is
// done at once and its end held back. So time on the link passes while the device computes, as it would with real
// hardware.
#include "pgas/thread_space.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace gneiss::pgas {
namespace {

using Clock = std::chrono::steady_clock;

class ThreadSpace final : public MeetingSpace {
 public:
  ThreadSpace(int device, int devices, Meet meet, const Link& link)
      : MeetingSpace(device, devices, std::move(meet)), link_(link) {
    try {
      copier_ = std::thread([this] { copy_until_stopped(); });
    } catch (const std::system_error& error) {
      GNEISS_ASSERT(false, "no thread could be started for device {}: {}", device, error.what());
    }
  }

  ~ThreadSpace() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    copier_.join();
  }

 private:
  void do_wait(Token token) override {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return done_ >= token; });
  }

  Token last_come() const override {
    const std::lock_guard lock(mutex_);
    return done_;
  }

  Token start(const Get& get) override {
    const std::lock_guard lock(mutex_);
    if (begun_ - done_ == ring_.size()) grow();
    ring_[begun_ % ring_.size()] = get;
    ++begun_;
    changed_.notify_one();
    return begun_;
  }

  /// Makes room for more gets, those under way in the places that their numbers have in the larger ring.
  void grow() {
    std::vector<Get> larger(std::max<std::size_t>(16, 2 * ring_.size()));
    for (Token i = done_; i < begun_; ++i) larger[i % larger.size()] = ring_[i % ring_.size()];
    ring_ = std::move(larger);
  }

  void copy_until_stopped() {
    Clock::time_point free = Clock::now();  // of the link
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || begun_ > done_; });
      if (begun_ == done_) return;  // all that was asked for has come
      const Get get = ring_[done_ % ring_.size()];
      lock.unlock();
      const Clock::time_point begin = std::max(free, Clock::now());
      free = begin + time_on_link(get);
      copy(get);
      if (takes_time(get)) std::this_thread::sleep_until(free);
      note(get, begin);
      lock.lock();
      ++done_;
      arrived_.notify_all();
    }
  }

  bool takes_time(const Get& get) const {
    return get.device != device() && (link_.seconds > 0 || link_.bytes_per_second > 0);
  }

  void note(const Get& get, Clock::time_point begin) const {
    if (timeline() == nullptr || get.device == device() || get.to.count == 0) return;
    timeline()->add({.what = Activity::kGet,
                     .begin = begin,
                     .end = Clock::now(),
                     .from = get.device,
                     .bytes = get.to.count * get.row_bytes});
  }

  Clock::duration time_on_link(const Get& get) const {
    if (!takes_time(get)) return {};
    const double bytes = static_cast<double>(get.to.count * get.row_bytes);
    const double seconds = link_.seconds + (link_.bytes_per_second > 0 ? bytes / link_.bytes_per_second : 0);
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  const Link link_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;  ///< there is something to copy, or it is time to end
  std::condition_variable arrived_;
  std::vector<Get> ring_ = std::vector<Get>(16);
  Token begun_ = 0;
  Token done_ = 0;
  bool stop_ = false;
  std::thread copier_;
};

}  // namespace

std::unique_ptr<Space> thread_space(int device, int devices, Meet meet, const Link& link) {
  return std::make_unique<ThreadSpace>(device, devices, std::move(meet), link);
}

}  // namespace gneiss::pgas
