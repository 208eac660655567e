// Whoever finds a value of another thread reads that node's place in a list, so values are released after the list is
// written. A settled id overwrites its claim while others still look for claims of their own; they take neither for
// theirs, because each place is claimed once.
#include "minibatch/local_ids.h"

#include <algorithm>

namespace gneiss::minibatch {
namespace {

constexpr std::int64_t kFewestSlots = 1024;

}  // namespace

std::string_view table_name(TableKind kind) {
  switch (kind) {
    case TableKind::kAuto:
      return "auto";
    case TableKind::kDirect:
      return "direct";
    case TableKind::kHash:
      return "hash";
  }
  return "";
}

template <class Id>
LocalIds<Id>::LocalIds(TableKind kind, std::int64_t num_nodes) : direct_(kind == TableKind::kDirect) {
  resize(direct_ ? num_nodes : kFewestSlots);
}

template <class Id>
void LocalIds<Id>::resize(std::int64_t slots) {
  slots_ = Buffer<std::uint64_t>::zeros(static_cast<std::size_t>(slots));
  generation_ = 1;
  mask_ = direct_ ? 0 : slots_.size() - 1;
  shift_ = 65 - static_cast<int>(std::bit_width(slots_.size()));
}

template <class Id>
void LocalIds<Id>::start() {
  if (++generation_ >> 32 == 0) return;
  std::fill(slots_.begin(), slots_.end(), 0);
  generation_ = 1;
}

template <class Id>
void LocalIds<Id>::reserve(std::int64_t size, const Id* nodes, std::int64_t known) {
  if (direct_ || 2 * size <= static_cast<std::int64_t>(slots_.size())) return;
  resize(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * size))));
  for (std::int64_t local = 0; local < known; ++local)
    find_or_insert(nodes[local], static_cast<std::int32_t>(local), nodes);
}

template <class Id>
void LocalIds<Id>::claim(Id node, std::uint32_t place, const Seen& seen) {
  const std::uint64_t mine = generation_ << 32 | kClaim | place;
  for (std::size_t at = home(node);; at = (at + 1) & mask_) {
    std::atomic_ref<std::uint64_t> slot = atomic(at);
    std::uint64_t found = slot.load(std::memory_order_acquire);
    while (found >> 32 != generation_)
      if (slot.compare_exchange_weak(found, mine, std::memory_order_acq_rel, std::memory_order_acquire)) return;
    if (!direct_ && owner(static_cast<std::uint32_t>(found), seen) != node) continue;
    // An id is less than every claim.
    while (mine < found &&
           !slot.compare_exchange_weak(found, mine, std::memory_order_acq_rel, std::memory_order_acquire)) {
    }
    return;
  }
}

template <class Id>
std::size_t LocalIds<Id>::find(Id node, const Seen& seen) const {
  std::size_t at = home(node);
  if (direct_) return at;
  while (owner(load(at), seen) != node) at = (at + 1) & mask_;
  return at;
}

template <class Id>
void LocalIds<Id>::settle(Id node, std::int32_t local, const Seen& seen) {
  atomic(find(node, seen)).store(generation_ << 32 | static_cast<std::uint32_t>(local), std::memory_order_release);
}

template class LocalIds<std::int32_t>;
template class LocalIds<std::int64_t>;

}  // namespace gneiss::minibatch
