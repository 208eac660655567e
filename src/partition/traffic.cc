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

std::vector<PartTraffic> part_traffic(const graph::Graph& whole, const Owners& owners, int parts, bool both_ways) {
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
    const auto counted = [&](std::int32_t part) { return part >= first && part < first + kBits; };
    const auto read = [&](std::int32_t reader, std::size_t node) {
      const std::uint64_t bit = std::uint64_t{1} << (reader - first);
      const auto owner = static_cast<std::size_t>(owners[node]);
      made[static_cast<std::size_t>(reader)].halo_rows[owner] += (readers[node] & bit) == 0 ? 1 : 0;
      readers[node] |= bit;
    };
    for (std::size_t node = 0; node < owners.size(); ++node) {
      const std::int32_t reader = owners[node];
      const bool reads = counted(reader);
      if (!reads && !both_ways) continue;
      PartTraffic& part = made[static_cast<std::size_t>(reader)];
      for (const NodeId source : sources.at(whole.offsets()[node], whole.offsets()[node + 1])) {
        const std::int32_t owner = owners[static_cast<std::size_t>(source)];
        if (owner == reader) {
          part.local_edges += reads ? 1 : 0;
          continue;
        }
        if (both_ways && counted(owner)) read(owner, node);
        if (!reads) continue;
        ++part.remote_edges;
        ++part.edge_rows[static_cast<std::size_t>(owner)];
        read(reader, static_cast<std::size_t>(source));
      }
    }
  }
  return made;
}

}  // namespace gneiss::partition
