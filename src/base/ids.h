// Index types: a node fits in 32 bits, an edge may not.
#pragma once

#include <cstdint>

namespace gneiss {

using NodeId = std::int32_t;
using EdgeId = std::int64_t;

}  // namespace gneiss
