// Constants made from 16-bit features are kept in 16 bits too.
#pragma once

#include <string>
#include <vector>

#include "base/half.h"
#include "ir/program.h"

namespace gneiss::passes {

/// Stores as `type` each node value of the setup phase that only ops read that can read it so: (AX)W keeps AX at half
/// the size. An aggregation of halves writes them itself, other ops are followed by a to_half.
ir::Program store_constants(const ir::Program& program, HalfType type, std::vector<std::string>* decisions);

}  // namespace gneiss::passes
