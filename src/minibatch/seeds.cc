// Fisher and Yates' shuffle, with draws that are numbered by place. A permutation that could be evaluated at one place
// (a Feistel network) would save the list, 4 bytes a seed, but not all permutations are as likely then, least of all of
// few seeds; a shuffle takes some milliseconds for a million.
#include "minibatch/seeds.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "minibatch/draws.h"

namespace gneiss::minibatch {

template <class Id>
SeedOrder<Id>::SeedOrder(std::span<const Id> nodes, std::int64_t num_nodes, std::span<const std::int64_t> orig_id,
                         const SeedOptions& options)
    : nodes_(nodes.begin(), nodes.end()), options_(options) {
  GNEISS_CHECK(options.batch_size >= 1, ErrorCode::kUsage, "expected a batch size of at least 1, got {}",
               options.batch_size);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    GNEISS_CHECK(nodes_[i] >= 0 && static_cast<std::int64_t>(nodes_[i]) < num_nodes, ErrorCode::kBadData,
                 "seed {} is node {}; the graph has nodes 0 to {}", i, nodes_[i], num_nodes - 1);
  }
  if (!options.shuffle) return;
  const auto original = [&](Id v) {
    return orig_id.empty() ? static_cast<std::int64_t>(v) : orig_id[static_cast<std::size_t>(v)];
  };
  std::sort(nodes_.begin(), nodes_.end(), [&](Id a, Id b) { return original(a) < original(b); });
}

template <class Id>
std::int64_t SeedOrder<Id>::batches_per_epoch() const {
  return (size() + options_.batch_size - 1) / options_.batch_size;
}

template <class Id>
typename SeedOrder<Id>::Epoch SeedOrder<Id>::epoch(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  for (const Kept& kept : kept_)
    if (kept.order != nullptr && kept.number == number) return kept.order;
  std::swap(kept_[0], kept_[1]);
  std::shared_ptr<std::vector<Id>>& order = kept_[0].order;
  if (order == nullptr || order.use_count() > 1) {
    order = std::make_shared<std::vector<Id>>(nodes_);
  } else {
    const Epoch after_all_readers = order;  // libstdc++ counts with acquire and release: behind their last reads
    std::ranges::copy(nodes_, order->begin());
  }
  kept_[0].number = number;
  if (options_.shuffle) {
    const std::uint64_t key = epoch_key(options_.seed, number, Purpose::kSeedOrder);
    for (std::uint64_t i = order->size(); i > 1; --i) std::swap((*order)[i - 1], (*order)[below(draw(key, i), i)]);
  }
  return order;
}

template <class Id>
std::span<const Id> SeedOrder<Id>::batch(const Epoch& epoch, std::int64_t index) const {
  const std::int64_t first = index * options_.batch_size;
  GNEISS_ASSERT(index >= 0 && first < size(), "batch {} of {}", index, batches_per_epoch());
  const std::int64_t count = std::min(options_.batch_size, size() - first);
  return std::span<const Id>(*epoch).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

template class SeedOrder<std::int32_t>;
template class SeedOrder<std::int64_t>;

}  // namespace gneiss::minibatch
