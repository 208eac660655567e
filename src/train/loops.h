// The loops over edges of a plan, compiled for this process.
#pragma once

#include <vector>

#include "ir/plan.h"
#include "kernels/edge_math.h"
#include "language/compile.h"
#include "runtime/device.h"
#include "runtime/device_loops.h"
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
/// The text of the loops of a plan for a device, for whichever compiler makes kernels of it.
runtime::CppText device_loops_text(const ir::Plan& plan, const language::CompileResult& model);
/// As compile_loops, of a plan for a device. Errors: as runtime::Device::compile; kUnsupported if a thread
/// would have too much to keep.
runtime::DeviceLoops compile_device_loops(const ir::Plan& plan, const language::CompileResult& model,
                                          runtime::Device* device);

}  // namespace gneiss::train
