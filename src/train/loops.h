// The loops over edges of a plan, compiled for this process.
#pragma once

#include <vector>

#include "ir/plan.h"
#include "kernels/edge_math.h"
#include "language/compile.h"
#include "runtime/host_compiler.h"

namespace gneiss::train {

struct CompiledLoops {
  runtime::LoadedLibrary library;
  std::vector<kernels::EdgeLoopFunction> functions;  ///< one for each of plan.loops
  bool was_cached = false;
  double seconds = 0;
};

/// Writes, compiles and loads the loops of a plan; nothing happens if it has none. Errors: as runtime::compile_text.
CompiledLoops compile_loops(const ir::Plan& plan, const language::CompileResult& model);

}  // namespace gneiss::train
