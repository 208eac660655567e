// The text that synth writes for loops is handed to the host's compiler; names are looked up in the loaded library.
#include "train/loops.h"

#include "synth/loops.h"

namespace gneiss::train {

CompiledLoops compile_loops(const ir::Plan& plan, const language::CompileResult& model) {
  CompiledLoops loops;
  if (plan.loops.empty()) return loops;
  synth::Specification spec;
  for (const language::Source& source : model.sources) spec.texts.push_back({source.name, source.text});
  spec.calls = model.calls;
  spec.plan = &plan;
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

}  // namespace gneiss::train
