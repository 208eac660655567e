// One mutex guards the ring: it is taken twice a batch, and batches take milliseconds. Preparing happens outside.
#include "minibatch/loader.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <new>

#include "base/error.h"
#include "minibatch/workspace.h"

namespace gneiss::minibatch {
namespace {

using Clock = std::chrono::steady_clock;

/// Waits until `holds`, and adds the time of the wait to `seconds`.
template <class Test>
void wait(std::condition_variable* event, std::unique_lock<std::mutex>* lock, double* seconds, const Test& holds) {
  if (holds()) return;
  const Clock::time_point began = Clock::now();
  event->wait(*lock, holds);
  *seconds += std::chrono::duration<double>(Clock::now() - began).count();
}

std::string batch_name(const BatchKey& key) {
  return fmt::format("batch {} of epoch {}, seed {}", key.index, key.epoch, key.seed);
}

}  // namespace

std::exception_ptr error_in_batch(const BatchKey& key) {
  const std::string batch = batch_name(key);
  try {
    throw;
  } catch (const Error& failure) {
    const std::string where = failure.where().empty() ? batch : failure.where() + ", in " + batch;
    return std::make_exception_ptr(Error(failure.code(), failure.message(), where, failure.hint()));
  } catch (const std::bad_alloc&) {
    return std::make_exception_ptr(Error(ErrorCode::kOutOfMemory, "no memory for a mini-batch", batch,
                                         "smaller batches or fanouts, or fewer threads, need less"));
  } catch (const std::exception& failure) {
    return std::make_exception_ptr(Error(ErrorCode::kInternal, failure.what(), batch,
                                         "this is a defect of Gneiss; please report it with the command"));
  } catch (...) {
    return std::make_exception_ptr(Error(ErrorCode::kInternal, "an exception of no known type", batch,
                                         "this is a defect of Gneiss; please report it with the command"));
  }
}

struct Loader::Held::Ring {
  enum class State : std::uint8_t { kFree, kInWork, kReady, kHeld };
  struct Slot {
    Slab slab;
    State state = State::kFree;
    std::exception_ptr error;
  };

  Ring(Prepare prepare_in, const LoaderOptions& options_in)
      : prepare(std::move(prepare_in)), options(options_in), slots(static_cast<std::size_t>(options.slabs)) {
    for (Slot& slot : slots) slot.slab = Slab(options.slab_bytes);
    end = options.batches < 0 ? std::numeric_limits<std::int64_t>::max() : options.batches;
    if (options.batches_per_epoch == 0) end = 0;
  }

  BatchKey key(std::int64_t number) const {
    const std::int64_t index = options.first_index + number;
    const std::int64_t size = std::max<std::int64_t>(options.batches_per_epoch, 1);
    return {options.seed, options.first_epoch + index / size, index % size};
  }
  Slot& slot(std::int64_t number) { return slots[static_cast<std::size_t>(number) % slots.size()]; }
  void work(int worker);

  Prepare prepare;
  LoaderOptions options;
  mutable std::mutex mutex;
  std::condition_variable slab_free;
  std::condition_variable batch_ready;
  std::vector<Slot> slots;
  std::int64_t end = 0;
  std::int64_t next_to_prepare = 0;
  std::int64_t next_to_deliver = 0;
  bool closed = false;           ///< no batch is begun any more
  bool stopped = false;          ///< and none delivered
  std::exception_ptr delivered;  ///< the error that the user has seen
  LoaderStats stats;
};

void Loader::Held::Ring::work(int worker) {
  std::unique_lock lock(mutex);
  for (;;) {
    wait(&slab_free, &lock, &stats.worker_seconds,
         [&] { return closed || next_to_prepare >= end || slot(next_to_prepare).state == State::kFree; });
    if (closed || next_to_prepare >= end) return;
    const BatchKey batch = key(next_to_prepare);
    Slot& mine = slot(next_to_prepare++);
    mine.state = State::kInWork;
    const std::int64_t growths = mine.slab.growths();
    lock.unlock();
    std::exception_ptr error;
    try {
      prepare(worker, batch, &mine.slab);
    } catch (...) {
      error = error_in_batch(batch);
    }
    lock.lock();
    mine.error = error;
    mine.state = State::kReady;
    ++stats.prepared;
    if (mine.slab.growths() > growths) ++stats.grown;
    if (error) {
      closed = true;
      slab_free.notify_all();
    }
    batch_ready.notify_all();
  }
}

Loader::Held::Held(Held&& other) noexcept = default;

Loader::Held& Loader::Held::operator=(Held&& other) noexcept {
  release();
  ring_ = std::move(other.ring_);
  slot_ = other.slot_;
  return *this;
}

Loader::Held::~Held() { release(); }

void Loader::Held::release() {
  if (ring_ == nullptr) return;
  {
    const std::lock_guard lock(ring_->mutex);
    ring_->slots[slot_].state = Ring::State::kFree;
  }
  ring_->slab_free.notify_all();
  ring_ = nullptr;
}

const Slab& Loader::Held::slab() const { return ring_->slots[slot_].slab; }
Slab& Loader::Held::slab() { return ring_->slots[slot_].slab; }

Loader::Loader(Prepare prepare, const LoaderOptions& options) {
  GNEISS_CHECK(options.workers >= 1 && options.slabs >= 0, ErrorCode::kUsage,
               "expected at least one worker, got {} with {} slabs", options.workers, options.slabs);
  GNEISS_CHECK(
      options.batches_per_epoch >= 0 && options.first_index >= 0 && options.first_index <= options.batches_per_epoch,
      ErrorCode::kUsage, "expected to begin at one of {} batches, got batch {}", options.batches_per_epoch,
      options.first_index);
  LoaderOptions chosen = options;
  if (chosen.slabs == 0) chosen.slabs = 2 * chosen.workers + 2;
  ring_ = std::make_shared<Ring>(std::move(prepare), chosen);
  try {
    for (int worker = 0; worker < chosen.workers; ++worker)
      workers_.emplace_back([ring = ring_, worker] { ring->work(worker); });
  } catch (...) {
    stop();
    for (std::thread& worker : workers_) worker.join();
    throw;
  }
}

Loader::~Loader() {
  stop();
  for (std::thread& worker : workers_) worker.join();
}

void Loader::stop() {
  {
    const std::lock_guard lock(ring_->mutex);
    ring_->closed = true;
    ring_->stopped = true;
  }
  ring_->slab_free.notify_all();
  ring_->batch_ready.notify_all();
}

std::optional<Loader::Held> Loader::next() {
  Ring& ring = *ring_;
  std::unique_lock lock(ring.mutex);
  if (ring.delivered) std::rethrow_exception(ring.delivered);
  if (ring.stopped || ring.next_to_deliver >= ring.end) return {};
  Ring::Slot& slot = ring.slot(ring.next_to_deliver);
  GNEISS_CHECK(slot.state != Ring::State::kHeld, ErrorCode::kUsage,
               "{} needs a slab, and all {} are held; let go of one, or have more of them",
               batch_name(ring.key(ring.next_to_deliver)), ring.slots.size());
  wait(&ring.batch_ready, &lock, &ring.stats.consumer_seconds,
       [&] { return ring.stopped || slot.state == Ring::State::kReady; });
  if (ring.stopped) return {};
  if (slot.error) {
    ring.delivered = slot.error;
    std::rethrow_exception(ring.delivered);
  }
  slot.state = Ring::State::kHeld;
  ++ring.stats.delivered;
  const auto at = static_cast<std::size_t>(ring.next_to_deliver++) % ring.slots.size();
  return Held(ring_, at);
}

BatchKey Loader::position() const {
  const std::lock_guard lock(ring_->mutex);
  return ring_->key(ring_->next_to_deliver);
}

LoaderStats Loader::stats() const {
  const std::lock_guard lock(ring_->mutex);
  LoaderStats stats = ring_->stats;
  for (const Ring::Slot& slot : ring_->slots)
    if (slot.state != Ring::State::kInWork) stats.slab_bytes += slot.slab.capacity();
  return stats;
}

template <class Id>
Prepare sampling(const Sampler<Id>& sampler, const SeedOrder<Id>& seeds, int workers) {
  auto workspaces = std::make_shared<std::vector<std::unique_ptr<Workspace<Id>>>>();
  for (int worker = 0; worker < workers; ++worker) workspaces->push_back(sampler.make_workspace());
  return [&sampler, &seeds, workspaces](int worker, const BatchKey& key, Slab* slab) {
    const auto epoch = seeds.epoch(key.epoch);
    sampler.sample(key, seeds.batch(epoch, key.index), (*workspaces)[static_cast<std::size_t>(worker)].get(), slab);
  };
}

template <class Id>
Prepare sampling_together(const Sampler<Id>& sampler, const SeedOrder<Id>& seeds, int threads) {
  std::shared_ptr<Workspace<Id>> workspace = sampler.make_workspace();
  return [&sampler, &seeds, threads, workspace](int, const BatchKey& key, Slab* slab) {
    const auto epoch = seeds.epoch(key.epoch);
    sampler.sample_together(key, seeds.batch(epoch, key.index), threads, workspace.get(), slab);
  };
}

template Prepare sampling(const Sampler<std::int32_t>&, const SeedOrder<std::int32_t>&, int);
template Prepare sampling(const Sampler<std::int64_t>&, const SeedOrder<std::int64_t>&, int);
template Prepare sampling_together(const Sampler<std::int32_t>&, const SeedOrder<std::int32_t>&, int);
template Prepare sampling_together(const Sampler<std::int64_t>&, const SeedOrder<std::int64_t>&, int);

}  // namespace gneiss::minibatch
