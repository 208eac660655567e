// Nodes are walked in their order, so that edges may lie in a file. Each node carries a bit for each part that has read
// it, of 64 parts at a time; edges are read once in all.
#include "partition/traffic.h"

#include <algorithm>
#include <numeric>

#include "base/sweep.h"

namespace gneiss::partition {

std::int64_t PartTraffic::ghosts() const {
  return std::accumulate(halo_rows.begin(), halo_rows.end(), std::int64_t{0});
}

std::vector<PartTraffic> part_traffic(const graph::Graph& whole, const Owners& owners, int parts) {
  constexpr std::int32_t kBits = 64;
  std::vector<PartTraffic> made(static_cast<std::size_t>(parts));
  for (PartTraffic& part : made) {
    part.halo_rows.resize(made.size());
    part.edge_rows.resize(made.size());
  }
  for (const std::int32_t owner : owners) ++made[static_cast<std::size_t>(owner)].nodes;
  Sweep<NodeId> sources(whole.sources());
  std::vector<std::uint64_t> readers(owners.size());  // of each node, a bit a part
  for (std::int32_t first = 0; first < parts; first += kBits) {
    std::fill(readers.begin(), readers.end(), 0);
    for (std::size_t node = 0; node < owners.size(); ++node) {
      const std::int32_t reader = owners[node];
      if (reader < first || reader >= first + kBits) continue;
      PartTraffic& part = made[static_cast<std::size_t>(reader)];
      const std::uint64_t bit = std::uint64_t{1} << (reader - first);
      for (const NodeId source : sources.at(whole.offsets()[node], whole.offsets()[node + 1])) {
        const std::int32_t owner = owners[static_cast<std::size_t>(source)];
        if (owner == reader) {
          ++part.local_edges;
          continue;
        }
        ++part.remote_edges;
        ++part.edge_rows[static_cast<std::size_t>(owner)];
        std::uint64_t& read = readers[static_cast<std::size_t>(source)];
        part.halo_rows[static_cast<std::size_t>(owner)] += (read & bit) == 0 ? 1 : 0;
        read |= bit;
      }
    }
  }
  return made;
}

}  // namespace gneiss::partition
