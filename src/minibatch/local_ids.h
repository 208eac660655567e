// From the ids of a graph to those of a batch, in the order of first sight.
//
// Method: a slot is 64 bits, generation << 32 | local id. A slot of another generation is empty, so nothing is cleared
// between batches. Which slot a node has:
//   direct   slot v for node v: 8 bytes a node of the graph, one cache line to look at
//   hash     open addressing at a load of at most a half; whose slot it is, is found in the batch's list of nodes, so
//            that ids of any width need no more than the 64 bits
//
// Many threads may fill one hop together: an unknown node gets a *claim*, the least place in the hop's list of
// neighbours that it was seen at, and claims become local ids when all are in. So the ids are those of one thread.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/prefetch.h"
#include "minibatch/draws.h"

namespace gneiss::minibatch {

enum class TableKind : std::uint8_t { kAuto, kDirect, kHash };
std::string_view table_name(TableKind kind);

template <class Id = NodeId>
class LocalIds {
 public:
  /// `kind` is not kAuto.
  LocalIds(TableKind kind, std::int64_t num_nodes);

  /// Forgets all ids.
  void start();
  /// Room for `size` nodes. `nodes`: those that have an id, `known` of them.
  void reserve(std::int64_t size, const Id* nodes, std::int64_t known);
  void prefetch_slot(Id node) const { prefetch_to_write(&slots_[home(node)]); }

  /// The node's local id, or kNone after it got `next`.
  static constexpr std::int32_t kNone = -1;
  std::int32_t find_or_insert(Id node, std::int32_t next, const Id* nodes) {
    for (std::size_t at = home(node);; at = (at + 1) & mask_) {
      const std::uint64_t slot = slots_[at];
      if (slot >> 32 != generation_) {
        slots_[at] = generation_ << 32 | static_cast<std::uint32_t>(next);
        return kNone;
      }
      const auto local = static_cast<std::int32_t>(slot);
      if (direct_ || nodes[local] == node) return local;
    }
  }

  /// What several threads see of one hop: ids so far, and the neighbours whose places are claims.
  struct Seen {
    const Id* nodes;
    const Id* neighbours;
  };
  /// Leaves the least of all claims on a node that has no id yet. Any thread, at the same time as others.
  void claim(Id node, std::uint32_t place, const Seen& seen);
  /// Does the claim of this place on its node hold?
  bool claim_holds(Id node, std::uint32_t place, const Seen& seen) const {
    return load(find(node, seen)) == (kClaim | place);
  }
  /// Gives the node of a claim that holds its id; nodes[local] is written.
  void settle(Id node, std::int32_t local, const Seen& seen);
  std::int32_t local_of(Id node, const Seen& seen) const { return static_cast<std::int32_t>(load(find(node, seen))); }

  std::int64_t bytes() const { return static_cast<std::int64_t>(slots_.size_bytes()); }

 private:
  static constexpr std::uint32_t kClaim = std::uint32_t{1} << 31;

  std::size_t home(Id node) const {
    return direct_ ? static_cast<std::size_t>(node)
                   : static_cast<std::size_t>((static_cast<std::uint64_t>(node) * kGoldenRatio) >> shift_);
  }
  void resize(std::int64_t slots);
  std::atomic_ref<std::uint64_t> atomic(std::size_t at) const {
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(slots_[at]));
  }
  std::uint32_t load(std::size_t at) const {
    return static_cast<std::uint32_t>(atomic(at).load(std::memory_order_acquire));
  }
  static Id owner(std::uint32_t value, const Seen& seen) {
    return (value & kClaim) != 0 ? seen.neighbours[value & ~kClaim] : seen.nodes[value];
  }
  /// The slot of a node that has an id or a claim.
  std::size_t find(Id node, const Seen& seen) const;

  bool direct_;
  int shift_ = 0;
  std::size_t mask_ = 0;
  std::uint64_t generation_ = 0;
  Buffer<std::uint64_t> slots_;
};

}  // namespace gneiss::minibatch
