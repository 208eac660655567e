// Own nodes are a run; of the others the place is looked for. A file of its own, so that a test can stand in the way of
// its calls.
#include "partition/global_to_local.h"

#include <algorithm>

#include "base/error.h"

namespace gneiss::partition {

GlobalToLocal::GlobalToLocal(std::int64_t begin, std::int64_t end, std::span<const NodeId> ghosts)
    : begin_(begin), end_(end), ghosts_(ghosts) {}

NodeId GlobalToLocal::column(NodeId node) const {
  if (node >= begin_ && node < end_) return static_cast<NodeId>(node - begin_);
  const auto ghost = std::lower_bound(ghosts_.begin(), ghosts_.end(), node);
  GNEISS_ASSERT(ghost != ghosts_.end() && *ghost == node, "node {} is no copy in the part of nodes {} to {}", node,
                begin_, end_);
  return static_cast<NodeId>(end_ - begin_ + (ghost - ghosts_.begin()));
}

}  // namespace gneiss::partition
