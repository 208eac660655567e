// One mutex guards queues and results: it is taken a few times a batch, and stages run outside of it.
#include "schedule/host_device.h"

#include <chrono>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace gneiss::schedule {
namespace {

Nanoseconds clock_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

}  // namespace

HostDevice::HostDevice(Work* work, int workers, double link_bytes_per_second)
    : work_(work), link_bytes_per_second_(link_bytes_per_second), start_(clock_now()) {
  GNEISS_ASSERT(workers >= 1, "a device of {} CPU workers", workers);
  for (int worker = 0; worker < workers; ++worker) threads_.emplace_back([this, worker] { serve(&cpu_, worker); });
  threads_.emplace_back([this] { serve(&link_, 0); });
  threads_.emplace_back([this] { serve(&device_, 0); });
}

HostDevice::~HostDevice() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  for (Queue* queue : {&cpu_, &link_, &device_}) queue->filled.notify_all();
  copied_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Nanoseconds HostDevice::now() const { return clock_now() - start_; }

HostDevice::Queue& HostDevice::queue_of(Action action) {
  switch (action) {
    case Action::kPrepareOnCpu:
      return cpu_;
    case Action::kCopy:
      return link_;
    case Action::kPrepareOnDevice:
    case Action::kTrain:
      return device_;
    default:
      break;
  }
  GNEISS_ASSERT(false, "{} is no stage", action_name(action));
}

void HostDevice::start(const Command& stage) {
  Queue& queue = queue_of(stage.action);
  {
    const std::lock_guard lock(mutex_);
    if (stage.action == Action::kCopy) on_the_way_.insert(stage.batch);
    queue.stages.push_back(stage);
    ++under_way_;
  }
  queue.filled.notify_one();
}

void HostDevice::wait(std::vector<Command>* ended) {
  std::unique_lock lock(mutex_);
  GNEISS_ASSERT(under_way_ > 0, "a wait for something to end, and nothing has begun");
  something_ended_.wait(lock, [this] { return error_ != nullptr || !ended_.empty(); });
  if (error_ != nullptr) std::rethrow_exception(error_);
  ended->clear();
  std::swap(*ended, ended_);
  under_way_ -= std::ssize(*ended);
}

void HostDevice::serve(Queue* queue, int worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    queue->filled.wait(lock, [&] { return closed_ || !queue->stages.empty(); });
    if (closed_) return;
    const Command stage = queue->stages.front();
    queue->stages.pop_front();
    if (stage.action == Action::kTrain) {
      copied_.wait(lock, [&] { return closed_ || !on_the_way_.contains(stage.batch); });
      if (closed_) return;
    }
    lock.unlock();
    std::exception_ptr error;
    try {
      perform(stage, worker);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error != nullptr && error_ == nullptr) error_ = error;
    if (stage.action == Action::kCopy) {
      on_the_way_.erase(stage.batch);
      copied_.notify_all();
    }
    ended_.push_back(stage);
    something_ended_.notify_all();
  }
}

void HostDevice::perform(const Command& stage, int worker) {
  const Nanoseconds began = clock_now();
  switch (stage.action) {
    case Action::kPrepareOnCpu:
      work_->prepare_on_cpu(stage.batch, worker);
      break;
    case Action::kCopy: {
      const auto bytes = static_cast<double>(work_->copy(stage.batch));
      if (link_bytes_per_second_ <= 0) break;
      const auto lasts = static_cast<Nanoseconds>(1e9 * bytes / link_bytes_per_second_);
      std::this_thread::sleep_for(std::chrono::nanoseconds(began + lasts - clock_now()));
      break;
    }
    case Action::kPrepareOnDevice:
      work_->prepare_on_device(stage.batch);
      break;
    default:
      work_->train(stage.batch);
  }
}

}  // namespace gneiss::schedule
