// Parts are walked one after the other. Each node carries the number of the part that last read it, so that a part
// counts it once.
#include "partition/traffic.h"

#include <numeric>

namespace gneiss::partition {

std::int64_t PartTraffic::ghosts() const {
  return std::accumulate(halo_rows.begin(), halo_rows.end(), std::int64_t{0});
}

std::vector<PartTraffic> part_traffic(const graph::Graph& whole, const Owners& owners, int parts) {
  const PartOrder by_part = order_by_part(whole, owners, parts);
  std::vector<std::int32_t> reader(owners.size(), -1);
  std::vector<PartTraffic> made(static_cast<std::size_t>(parts));
  for (std::size_t p = 0; p < made.size(); ++p) {
    PartTraffic& part = made[p];
    part.nodes = by_part.starts[p + 1] - by_part.starts[p];
    part.halo_rows.resize(made.size());
    part.edge_rows.resize(made.size());
    for (std::int64_t i = by_part.starts[p]; i < by_part.starts[p + 1]; ++i) {
      const auto node = static_cast<std::size_t>(by_part.order[static_cast<std::size_t>(i)]);
      for (EdgeId k = whole.offsets()[node]; k < whole.offsets()[node + 1]; ++k) {
        const auto source = static_cast<std::size_t>(whole.sources()[static_cast<std::size_t>(k)]);
        const auto of = static_cast<std::size_t>(owners[source]);
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
  }
  return made;
}

}  // namespace gneiss::partition
