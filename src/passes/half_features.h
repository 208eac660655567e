// Features in 16 bits: which ops read them so, and which constants made from them are stored so too.
#pragma once

#include <string>
#include <vector>

#include "base/half.h"
#include "ir/program.h"

namespace gneiss::passes {

/// Stores dense input features as `type`. Ops that cannot read them (ir::reads_halves) get a to_float of their own
/// right before them, whose result dies there; dropout takes its place. kNone and sparse features change nothing.
ir::Program store_features(const ir::Program& program, HalfType type, std::vector<std::string>* decisions);

/// Stores as `type` each node value of the setup phase that only ops read that can read it so: (AX)W keeps AX at half
/// the size. An aggregation of halves writes them itself, other ops are followed by a to_half.
ir::Program store_constants(const ir::Program& program, HalfType type, std::vector<std::string>* decisions);

}  // namespace gneiss::passes
