// Nodes are counted by part and then placed one after the other, so that they keep their order.
#include "partition/owners.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gneiss::partition {

Owners owners_of(std::span<const std::int64_t> starts) {
  Owners owners(static_cast<std::size_t>(starts.back()));
  for (std::size_t p = 0; p + 1 < starts.size(); ++p)
    std::fill(owners.begin() + starts[p], owners.begin() + starts[p + 1], static_cast<std::int32_t>(p));
  return owners;
}

PartOrder order_by_part(const Owners& owners, int parts) {
  PartOrder made;
  made.starts.assign(static_cast<std::size_t>(parts) + 1, 0);
  for (const std::int32_t owner : owners) {
    GNEISS_ASSERT(owner >= 0 && owner < parts, "part {} of {}", owner, parts);
    ++made.starts[static_cast<std::size_t>(owner) + 1];
  }
  std::partial_sum(made.starts.begin(), made.starts.end(), made.starts.begin());
  made.order.resize(owners.size());
  std::vector<std::int64_t> next(made.starts.begin(), made.starts.end() - 1);
  for (std::size_t v = 0; v < owners.size(); ++v)
    made.order[static_cast<std::size_t>(next[static_cast<std::size_t>(owners[v])]++)] = static_cast<NodeId>(v);
  return made;
}

}  // namespace gneiss::partition
