// Dead code: ops whose results nobody needs.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// Removes ops whose results nobody needs (effects, outputs, parameters and their gradients are needed) and numbers the
/// values anew. Optional results without a use are dropped.
ir::Program eliminate_dead_code(const ir::Program& program);

}  // namespace gneiss::passes
