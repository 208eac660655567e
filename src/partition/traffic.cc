// Each node carries the number of the part that last read it, so that a part counts it once.
#include "partition/traffic.h"

#include <algorithm>

namespace gneiss::partition {

std::vector<PartTraffic> part_traffic(const graph::Graph& whole, std::span<const std::int64_t> starts) {
  const std::size_t parts = starts.size() - 1;
  std::vector<std::int32_t> owner(static_cast<std::size_t>(whole.num_src()));
  for (std::size_t p = 0; p < parts; ++p)
    std::fill(owner.begin() + starts[p], owner.begin() + starts[p + 1], static_cast<std::int32_t>(p));
  std::vector<std::int32_t> reader(owner.size(), -1);
  std::vector<PartTraffic> made(parts);
  for (std::size_t p = 0; p < parts; ++p) {
    PartTraffic& part = made[p];
    part.nodes = starts[p + 1] - starts[p];
    part.halo_rows.resize(parts);
    part.edge_rows.resize(parts);
    const EdgeId first = whole.offsets()[static_cast<std::size_t>(starts[p])];
    const EdgeId end = whole.offsets()[static_cast<std::size_t>(starts[p + 1])];
    for (EdgeId k = first; k < end; ++k) {
      const auto source = static_cast<std::size_t>(whole.sources()[static_cast<std::size_t>(k)]);
      const auto of = static_cast<std::size_t>(owner[source]);
      if (of == p) {
        ++part.local_edges;
        continue;
      }
      ++part.remote_edges;
      ++part.edge_rows[of];
      if (reader[source] == static_cast<std::int32_t>(p)) continue;
      reader[source] = static_cast<std::int32_t>(p);
      ++part.halo_rows[of];
    }
  }
  return made;
}

}  // namespace gneiss::partition
