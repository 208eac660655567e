// Elections of label propagation: the cluster that most of a node's neighbours belong to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/matrix_view.h"
#include "base/prefetch.h"

namespace gneiss::graph {

/// Neighbours of a node that vote, at most.
inline constexpr EdgeId kMostVoters = 32;

/// How many nodes of the graph each cluster holds, and which have room for more.
class ClusterSizes {
 public:
  ClusterSizes(Buffer<std::int32_t> sizes, std::int64_t cap);

  /// Clusters with room for a single node are told apart by a bit each, which caches hold where sizes would not fit.
  bool has_room(NodeId cluster, std::int32_t size) const {
    const auto c = static_cast<std::size_t>(cluster);
    return size == 1 ? !full_[c] : sizes_[c] + size <= cap_;
  }
  void move(NodeId from, NodeId to, std::int32_t size) {
    add(from, -size);
    add(to, size);
  }
  void fetch(NodeId cluster) const { prefetch(&sizes_[static_cast<std::size_t>(cluster)]); }

 private:
  void add(NodeId cluster, std::int32_t more) {
    const auto c = static_cast<std::size_t>(cluster);
    const bool was_full = sizes_[c] >= cap_;
    sizes_[c] += more;
    if (was_full != (sizes_[c] >= cap_)) full_[c] = !was_full;
  }

  Buffer<std::int32_t> sizes_;
  std::int64_t cap_;
  std::vector<bool> full_;
};

/// What an election goes by; none of it changes meanwhile.
struct Election {
  SparsePattern voters;                   ///< of each node
  EdgeId most_voters = kMostVoters;       ///< of more every second, third, … votes
  std::span<const std::int32_t> weights;  ///< of their votes; empty = one each
  std::span<const std::int32_t> sizes;    ///< of the nodes; empty = one each
  std::span<const NodeId> labels;         ///< each node's cluster, none negative
  const ClusterSizes& clusters;
  std::uint32_t salt = 0;  ///< ties fall to a different cluster for each

  std::int32_t size(NodeId v) const { return sizes.empty() ? 1 : sizes[static_cast<std::size_t>(v)]; }
};

/// wanted[i] = the cluster with most votes of those that have room for nodes[i], as its own always has; its own where
/// none has more. A node that stays with more than half of at least eight votes is settled[v] = 1, and is not asked
/// again. Errors    kShape: most_voters is not 1 to kMostVoters Cost      a label of another node for every vote; votes
/// are counted all against all, in vectors (Highway's targets, all the same)
void elect(const Election& election, std::span<const NodeId> nodes, std::span<NodeId> wanted,
           std::span<std::uint8_t> settled);

}  // namespace gneiss::graph
