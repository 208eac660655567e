// The text that synth writes for loops is handed to a compiler; functions and kernels are looked up by their names in
// what comes back.
#include "train/loops.h"

#include <algorithm>

#include "base/error.h"
#include "synth/loops.h"

namespace gneiss::train {
namespace {

/// What a thread of a device may have in arrays. The driver takes as much for every thread that a card can hold at
/// once, besides the plan: 1.1 GB on an H100.
constexpr std::int64_t kMostArrayBytes = std::int64_t{4} << 10;

synth::Specification specification_of(const ir::Plan& plan, const language::CompileResult& model) {
  synth::Specification spec;
  for (const language::Source& source : model.sources) spec.texts.push_back({source.name, source.text});
  spec.calls = model.calls;
  spec.plan = &plan;
  return spec;
}

void check_arrays(const ir::Plan& plan, const synth::Names& names) {
  for (std::size_t i = 0; i < plan.loops.size(); ++i) {
    const std::int64_t bytes = synth::loop_array_bytes(plan, names, i);
    if (bytes <= kMostArrayBytes) continue;
    const auto step = static_cast<std::size_t>(plan.loops[i].last_step);
    const ir::Op& op = plan.program.ops[static_cast<std::size_t>(plan.steps[step].op)];
    throw Error(ErrorCode::kUnsupported,
                fmt::format("a loop over edges (line {} of the model) takes {} bytes of each thread, a device has room "
                            "for {}",
                            op.location.line, bytes, kMostArrayBytes),
                {}, "narrower messages or fewer heads take less");
  }
}

}  // namespace

CompiledLoops compile_loops(const ir::Plan& plan, const language::CompileResult& model) {
  CompiledLoops loops;
  if (plan.loops.empty()) return loops;
  const synth::Specification spec = specification_of(plan, model);
  const synth::Names names(spec);
  runtime::Compiled compiled =
      runtime::compile_text({"loops.cc", synth::loops_source(plan, names), synth::loop_headers(), synth::kLoopOptions});
  loops.library = std::move(compiled.library);
  loops.was_cached = compiled.was_cached;
  loops.seconds = compiled.seconds;
  for (std::size_t i = 0; i < plan.loops.size(); ++i) {
    void* const found = loops.library.find(synth::loop_name(plan, names, i));
    loops.functions.push_back(reinterpret_cast<kernels::EdgeLoopFunction>(found));
  }
  return loops;
}

runtime::CppText device_loops_text(const ir::Plan& plan, const language::CompileResult& model) {
  const synth::Specification spec = specification_of(plan, model);
  return {synth::kDeviceLoopsFile,
          synth::loops_source(plan, synth::Names(spec), Space::kDevice),
          synth::loop_headers(Space::kDevice),
          {}};
}

runtime::DeviceLoops compile_device_loops(const ir::Plan& plan, const language::CompileResult& model,
                                          runtime::Device* device) {
  runtime::DeviceLoops loops;
  if (plan.loops.empty()) return loops;
  const synth::Specification spec = specification_of(plan, model);
  const synth::Names names(spec);
  check_arrays(plan, names);
  loops.module = device->compile(device_loops_text(plan, model), synth::kEmulatedLoopOptions);
  for (std::size_t i = 0; i < plan.loops.size(); ++i)
    loops.loops.push_back(loops.module->kernel(synth::loop_name(plan, names, i)));
  const bool sums =
      std::any_of(plan.loops.begin(), plan.loops.end(), [](const ir::EdgeLoop& loop) { return loop.task_bytes > 0; });
  if (sums) loops.totals = loops.module->kernel(synth::kLoopTotals);
  return loops;
}

}  // namespace gneiss::train
