// Common subexpressions: one op for one computation.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// Makes ops that compute the same thing one. An op of the setup phase serves all; forward and backward share;
/// inference keeps its own, since the parameters change in between.
ir::Program eliminate_common_subexpressions(const ir::Program& program);

}  // namespace gneiss::passes
