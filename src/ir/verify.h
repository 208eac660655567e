// Is this a program at all? Run after every pass.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace gneiss::ir {

/// What is wrong, one sentence each; empty means well-formed: every value made once and before its use, arities and
/// types as ops.def says, graphs and node sets in range, names unique, parameters and outputs bound.
std::vector<std::string> find_defects(const Program& program);

/// Throws kInternal with the first defects and `after` (the pass that made them).
void verify(const Program& program, std::string_view after);

}  // namespace gneiss::ir
