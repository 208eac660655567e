// In which order the seed nodes of an epoch come, and so which batch has which.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/ids.h"

namespace gneiss::minibatch {

/// How seeds are cut into batches.
struct SeedOptions {
  std::int64_t batch_size = 1024;
  std::uint64_t seed = 0;
  bool shuffle = true;  ///< a new order for each epoch; else as given
};

/// Every node is a seed of exactly one batch of an epoch; the last batch may be short. An epoch's order is a shuffle
/// whose draws are functions of (seed, epoch, place), of the nodes in the order of their original ids: the same on
/// every machine, for any number of threads and under any names of the nodes. Threads may share an object.
template <class Id = NodeId>
class SeedOrder {
 public:
  using Epoch = std::shared_ptr<const std::vector<Id>>;

  /// `orig_id` as in InEdges. Errors: kUsage for a batch size under 1; kBadData for a node that is none.
  SeedOrder(std::span<const Id> nodes, std::int64_t num_nodes, std::span<const std::int64_t> orig_id,
            const SeedOptions& options);

  std::int64_t size() const { return static_cast<std::int64_t>(nodes_.size()); }
  std::int64_t batches_per_epoch() const;
  /// All seeds of an epoch. The last two asked for are kept, so that batches may run ahead into the next; a third takes
  /// the memory of the first, where nobody reads that any more.
  Epoch epoch(std::int64_t number) const;
  /// Those of one batch; `epoch` keeps them.
  std::span<const Id> batch(const Epoch& epoch, std::int64_t index) const;

 private:
  struct Kept {
    std::int64_t number = 0;
    std::shared_ptr<std::vector<Id>> order;
  };

  std::vector<Id> nodes_;
  SeedOptions options_;
  mutable std::mutex mutex_;
  mutable Kept kept_[2];
};

}  // namespace gneiss::minibatch
