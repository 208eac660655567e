// Parts of consecutive nodes, about equal in work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace gneiss::partition {

/// Cuts the nodes 0 .. n - 1 into `parts` runs of about equal weight: a node weighs its in-edges and `node_weight`.
/// Returns [parts + 1] first nodes; some parts may be empty.
///   Part k begins at the first node before which k/parts of all weight lie, a target that does not depend on where
///   earlier parts ended: a heavy node shifts no cut but its own.
/// `offsets`: [n + 1] of the in-edges. Cost: O(parts log n).
/// Source    MGG Algorithm 1, whose targets follow one another and which need not end as printed
std::vector<std::int64_t> contiguous(std::span<const EdgeId> offsets, int parts, double node_weight = 1);

}  // namespace gneiss::partition
