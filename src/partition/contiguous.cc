// The weight before a node is its first edge's number and a multiple of its own: it grows with the node, so that each
// cut is found by bisection. Of two nodes about a target the nearer one is taken.
#include "partition/contiguous.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gneiss::partition {

std::vector<std::int64_t> contiguous(std::span<const EdgeId> offsets, int parts, double node_weight) {
  GNEISS_ASSERT(parts >= 1 && !offsets.empty() && node_weight >= 0, "{} parts of {} offsets, a node weighs {}", parts,
                offsets.size(), node_weight);
  const std::int64_t n = std::ssize(offsets) - 1;
  const auto before = [&](std::int64_t node) {
    return static_cast<double>(offsets[static_cast<std::size_t>(node)]) + node_weight * static_cast<double>(node);
  };
  std::vector<std::int64_t> starts = {0};
  for (int k = 1; k < parts; ++k) {
    const double target = before(n) * k / parts;
    std::int64_t low = starts.back();
    std::int64_t high = n;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (before(middle) < target) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const bool nearer_before = low > starts.back() && target - before(low - 1) < before(low) - target;
    starts.push_back(nearer_before ? low - 1 : low);
  }
  starts.push_back(n);
  return starts;
}

}  // namespace gneiss::partition
