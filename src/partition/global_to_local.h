// Nodes of the whole graph -> columns of a rank's part: the one place where such a look-up is made, before a session
// exists. No epoch makes one (tests/metamorphic/look_ups_test.cc counts the calls).
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"

namespace gneiss::partition {

class GlobalToLocal {
 public:
  /// Of the part that owns the nodes [begin, end); `ghosts`, ascending, must outlive this.
  GlobalToLocal(std::int64_t begin, std::int64_t end, std::span<const NodeId> ghosts);

  /// Own nodes in their order, then ghosts. By bisection. Errors: kInternal for a node that is neither.
  NodeId column(NodeId node) const;

 private:
  std::int64_t begin_;
  std::int64_t end_;
  std::span<const NodeId> ghosts_;
};

}  // namespace gneiss::partition
