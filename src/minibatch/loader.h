// Batches prepared ahead by worker threads and delivered in order.
//
// A ring of slabs: batch number s, counted over epochs from where the loader began, is prepared in slab s mod size,
// once that is free. Workers take the numbers in order, one batch each at a time, and go on into the next epoch, so
// that an epoch begins with batches at hand. Who waits, sleeps: nothing polls.
//
// The next batch to be delivered can always be prepared unless its own slab is held by the user, since no slab serves
// two numbers at once; the user who holds all slabs and asks for more is told so.
//
// A worker's error takes the place of its batch in the order, reaches the user there, and ends the loader. Destroying a
// loader ends it at any time, after the batches in preparation; slabs that are held stay valid.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "minibatch/batch.h"
#include "minibatch/sampler.h"
#include "minibatch/seeds.h"

namespace gneiss::minibatch {

/// Fills the slab with a batch; called by worker `worker`, of several at the same time. May throw.
using Prepare = std::function<void(int worker, const BatchKey& key, Slab* slab)>;

/// Samples. `sampler` and `seeds` must outlive what is returned.
template <class Id>
Prepare sampling(const Sampler<Id>& sampler, const SeedOrder<Id>& seeds, int workers);
/// The same batches, each by `threads` threads together; for one call at a time, whatever the worker.
template <class Id>
Prepare sampling_together(const Sampler<Id>& sampler, const SeedOrder<Id>& seeds, int threads);

/// The exception at hand as the user shall see it: of the same kind, with the batch. Only within a catch.
std::exception_ptr error_in_batch(const BatchKey& key);

struct LoaderOptions {
  int workers = 1;
  int slabs = 0;                ///< 0: two for each worker, and two
  std::int64_t slab_bytes = 0;  ///< of each at the beginning; a batch that needs more makes its slab grow
  std::uint64_t seed = 0;
  std::int64_t batches_per_epoch = 0;
  std::int64_t first_epoch = 1;
  std::int64_t first_index = 0;  ///< of the first epoch, where a training goes on
  std::int64_t batches = -1;     ///< to deliver; -1: epoch after epoch without end
};

struct LoaderStats {
  std::int64_t delivered = 0;
  std::int64_t prepared = 0;
  std::int64_t grown = 0;       ///< batches that their slab had to grow for
  double consumer_seconds = 0;  ///< that the user waited for batches
  double worker_seconds = 0;    ///< that workers waited for slabs, all together
  std::int64_t slab_bytes = 0;  ///< of all slabs now
};

class Loader {
 public:
  /// A batch that the user holds; its slab is free again when this goes.
  class Held {
   public:
    Held(Held&& other) noexcept;
    Held& operator=(Held&& other) noexcept;
    ~Held();

    const Slab& slab() const;
    /// For stages that add to the batch.
    Slab& slab();

   private:
    friend class Loader;
    struct Ring;
    Held(std::shared_ptr<Ring> ring, std::size_t slot) : ring_(std::move(ring)), slot_(slot) {}
    void release();

    std::shared_ptr<Ring> ring_;
    std::size_t slot_ = 0;
  };

  /// Starts the workers. Errors: kUsage for numbers that make no sense; kOutOfMemory.
  Loader(Prepare prepare, const LoaderOptions& options);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  /// The next batch, when it is there; nothing behind the last, or after stop().
  /// Errors: a worker's, with batch, epoch and seed, again at every further call; kUsage if the user holds all slabs.
  std::optional<Held> next();
  /// Ends the workers, and anyone who waits in next(). Any thread.
  void stop();
  /// Which batch next() would give: what a training remembers in order to go on there. No batch in preparation counts.
  BatchKey position() const;
  LoaderStats stats() const;

 private:
  using Ring = Held::Ring;
  std::shared_ptr<Ring> ring_;
  std::vector<std::thread> workers_;
};

}  // namespace gneiss::minibatch
