// Features in 16 bits: which ops read them so.
#pragma once

#include <string>
#include <vector>

#include "base/half.h"
#include "ir/program.h"

namespace gneiss::passes {

/// Stores dense input features as `type`. Ops that cannot read them (ir::reads_halves) get a to_float of their own
/// right before them, whose result dies there; dropout takes its place. kNone and sparse features change nothing.
ir::Program store_features(const ir::Program& program, HalfType type, std::vector<std::string>* decisions);

}  // namespace gneiss::passes
