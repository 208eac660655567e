// The cuda target: C++ that calls the kernels of a device on named matrices in its memory, in the order of the plan.
//
// A program is for one card, and runs in the emulation too. It is laid out as those of the openmp target are, a file a
// phase. What differs: data are copied to the device once (cuda_data.cc); phases enqueue kernels, and a step is
// recorded when it first runs; a chain of the plan, ops on a kernel's result while that is in registers, is one call.
#include "synth/cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "synth/calls.h"
#include "synth/loops.h"
#include "synth/target.h"
#include "synth/text.h"

namespace gneiss::synth {
namespace cuda {
namespace {

using ir::Op;
using ir::OpKind;

/// The body of the function of one phase.
class PhaseWriter {
 public:
  PhaseWriter(const Source& from, ir::Phase phase) : from_(from), phase_(phase), lines_(from.names) {}

  std::string write() {
    const std::vector<ir::Step>& steps = from_.plan().steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::size_t first = i;
      if (steps[first].loop >= 0) {
        const auto index = static_cast<std::size_t>(steps[first].loop);
        i = static_cast<std::size_t>(from_.plan().loops[index].last_step);
        if (op_of(steps[first]).phase == phase_) write_loop(index);
        continue;
      }
      if (steps[first].band >= 0)
        i = static_cast<std::size_t>(from_.plan().bands[static_cast<std::size_t>(steps[first].band)].last_step);
      if (op_of(steps[first]).phase != phase_) continue;
      if (i > first) {
        write_chain(first, i);
      } else {
        write_alone(op_of(steps[first]));
      }
    }
    return text_;
  }

 private:
  const Op& op_of(const ir::Step& step) const { return from_.program().ops[static_cast<std::size_t>(step.op)]; }

  /// A name for the arguments of an op's call.
  std::string local(const Op& op, std::size_t call, std::size_t calls) {
    const bool named = !op.results.empty() && op.results[0] != ir::kNoValue;
    const std::string name = named ? from_.names.value(op.results[0]) : fmt::format("update_{}", ++unnamed_);
    return calls > 1 ? fmt::format("{}_part_{}", name, call) : name;
  }

  std::vector<Call> calls_for(const Op& op) const {
    std::vector<Call> calls = calls_of(from_.plan(), from_.spec, from_.names, op, Space::kDevice);
    if (calls.empty()) calls = fill_of(op);
    return calls;
  }

  void write_alone(const Op& op) {
    const std::vector<Call> calls = calls_for(op);
    if (calls.empty()) return;
    text_ += lines_.before(op, "  ");
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::string line = fmt::format("  p.launch<{}>({});", calls[i].args, braced(calls[i].fields));
      if (fits(line)) {
        text_ += line + "\n";
        continue;
      }
      const std::string name = local(op, i, calls.size()) + "_args";
      text_ += define("  ", calls[i], name) + fmt::format("  p.launch({});\n", name);
    }
  }

  /// Values straight from the graph or a number; none for leaves that are data.
  std::vector<Call> fill_of(const Op& op) const {
    const auto graph = static_cast<std::int32_t>(op.attrs.integer("graph", 0));
    std::vector<Field> fields;
    if (op.kind == OpKind::constant) {
      fields = {{"what", "Fill::kConstant"}, {"value", real(op.attrs.real("value", 0))}, {"weights", "{}"}};
    } else if (op.kind == OpKind::edge_weight) {
      const bool weighted = graphs_with_weights(from_)[static_cast<std::size_t>(graph)];
      fields = {{"what", "Fill::kEdgeWeights"}, {"weights", weighted ? "p.weights_" + from_.names.graph(graph) : "{}"}};
    } else if (op.kind == OpKind::degree) {
      const char* side = op.attrs.text("side", "dst") == "dst" ? "in" : "out";
      fields = {{"what", "Fill::kDegrees"},
                {"weights", "{}"},
                {"pattern", fmt::format("&p.{}_edges_{}", side, from_.names.graph(graph))}};
    } else {
      return {};
    }
    fields.push_back({"y", "p." + from_.names.value(op.results[0])});
    return {{"fill", "FillArgs", fields}};
  }

  static std::string define(const std::string& indent, const Call& call, const std::string& name) {
    return definition(indent, fmt::format("OnDevice<{}>", call.args), name, call.fields);
  }

  /// Steps that one kernel does: the first, and the others on its result.
  void write_chain(std::size_t first, std::size_t last) {
    const std::vector<ir::Step>& steps = from_.plan().steps;
    text_ += "  {\n";
    lines_.begin_anew();
    std::string kernel;
    std::string followers;
    for (std::size_t i = first; i <= last; ++i) {
      const Op& op = op_of(steps[i]);
      const std::vector<Call> calls = calls_for(op);
      GNEISS_ASSERT(calls.size() == 1, "{} has no place in a chain", ir::traits(op.kind).name);
      text_ += lines_.before(op, "    ");
      const std::string name = local(op, 0, 1);
      text_ += define("    ", calls[0], name);
      if (i == first) {
        kernel = name;
      } else {
        followers += fmt::format("{}then({}, {})", followers.empty() ? "" : ", ", name,
                                 at_hand(op, op_of(steps[i - 1]).results[0]));
      }
    }
    text_ += call("    ", "p.launch", {kernel, "{" + followers + "}"}) + "  }\n";
    lines_.begin_anew();
  }

  /// A loop over edges: which matrices it reads and writes, in the order in which its kernel counts them.
  void write_loop(std::size_t index) {
    const ir::EdgeLoop& loop = from_.plan().loops[index];
    const ir::LoopValues values = ir::values_of(from_.plan(), loop);
    const ir::GraphDef& graph = from_.program().graphs[static_cast<std::size_t>(loop.graph)];
    const std::string& edges = from_.names.graph(loop.graph);
    const std::string name = loop_name(from_.plan(), from_.names, index);
    const auto kernel = [](const std::string& of) { return fmt::format("{{{0}, ON_CARD({0})}}", of); };
    const bool weighted = graphs_with_weights(from_)[static_cast<std::size_t>(loop.graph)];
    std::vector<Field> fields = {{"loop", kernel(name)}};
    if (!values.totals.empty()) fields.push_back({"add_totals", kernel(kLoopTotals)});
    fields.push_back({"edges", fmt::format("p.{}_edges_{}", loop.out_edges ? "out" : "in", edges)});
    fields.push_back({"in_edges", "p.in_edges_" + edges});
    fields.push_back({"weights", weighted ? "p.weights_" + edges : "{}"});
    fields.push_back({"ids", "p.ids"});
    fields.push_back({"rows", from_.names.node_count(loop.out_edges ? graph.src_set : graph.dst_set)});
    if (!values.totals.empty()) fields.push_back({"tasks", fmt::format("{}", loop.tasks)});
    fields.push_back({"matrices", "matrices.list"});
    if (!values.totals.empty()) fields.push_back({"totals", "totals.list"});
    text_ += lines_.before(op_of(from_.plan().steps[static_cast<std::size_t>(loop.last_step)]), "  ");
    std::vector<ir::ValueId> matrices = values.reads;
    matrices.insert(matrices.end(), values.writes.begin(), values.writes.end());
    text_ += "  {\n";
    write_list("const runtime::Places matrices", matrices);
    if (!values.totals.empty()) write_list("const runtime::Matrices totals", values.totals);
    text_ += definition("    ", "runtime::ProgramLoop", "loop", fields) + "    p.launch(loop);\n  }\n";
    lines_.begin_anew();
  }

  void write_list(const std::string& head, const std::vector<ir::ValueId>& values) {
    std::vector<std::string> items;
    for (const ir::ValueId v : values) items.push_back("p." + from_.names.value(v));
    text_ += call("    ", head, items);
  }

  /// Which operands of an op are the result of the one before it.
  static std::string at_hand(const Op& op, ir::ValueId value) {
    static constexpr const char* kNames[] = {"kFirst", "kSecond", "kThird"};
    std::string text;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] == value) text += fmt::format("{}{}", text.empty() ? "" : " | ", kNames[k]);
    }
    return text;
  }

  const Source& from_;
  ir::Phase phase_;
  std::string text_;
  LineComments lines_;
  int unnamed_ = 0;
};

std::string phase_source(const Source& from, ir::Phase phase, const char* title, const char* function) {
  const std::string calls = PhaseWriter(from, phase).write();
  const std::string body = calls.empty() ? fmt::format("void {}(Program&) {{\n  // Nothing is.\n}}\n", function)
                                         : fmt::format("void {}(Program& p) {{\n{}}}\n", function, calls);
  return openmp::source_file(from, title, includes({quote("program.h")}), body);
}

std::string setup_source(const Source& from) {
  return phase_source(from, ir::Phase::kSetup, "What is computed once, before the first epoch.", "setup");
}
std::string forward_source(const Source& from) {
  return phase_source(from, ir::Phase::kForward, "Forward: the loss of the training nodes.", "forward");
}
std::string backward_source(const Source& from) {
  return phase_source(from, ir::Phase::kBackward, "Backward: the gradient of every parameter.", "backward");
}
std::string inference_source(const Source& from) {
  return phase_source(from, ir::Phase::kInference, "Inference: the logits of all nodes, without dropout.", "infer");
}

/// The call of the optimizer's kernel on a run of the flat buffers.
std::string step_call(const OptimizerSpec& optimizer) {
  if (optimizer.name == "sgd") {
    return definition("  ", "OnDevice<SgdStepArgs>", "args",
                      {{"momentum", real(optimizer.momentum)},
                       {"weight_decay", "weight_decay"},
                       {"nesterov", optimizer.nesterov ? "true" : "false"},
                       {"w", "part(p.parameters)"},
                       {"g", "part(p.gradients)"},
                       {"velocity", optimizer.momentum != 0 ? "part(p.moments)" : "{}"}});
  }
  return definition("  ", "OnDevice<AdamStepArgs>", "args",
                    {{"beta1", real(optimizer.beta1)},
                     {"beta2", real(optimizer.beta2)},
                     {"eps", real(optimizer.eps)},
                     {"weight_decay", "weight_decay"},
                     {"decoupled", optimizer.name == "adamw" ? "true" : "false"},
                     {"w", "part(p.parameters)"},
                     {"g", "part(p.gradients)"},
                     {"m", "part(p.moments)"},
                     {"v", "part(p.squares)"}});
}

/// A run of neighbouring parameters under one weight decay. Gaps between them hold zeros, and stay so.
struct Run {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double decay = 0;
};

std::vector<Run> runs_of(const Source& from) {
  const OptimizerSpec& optimizer = from.spec.optimizer;
  std::vector<Run> parts;
  for (const ir::Param& param : from.program().params) {
    if (!param.trainable) continue;
    const ir::Placement& place = from.place(param.value);
    const bool decays = !optimizer.decay_first_layer_only || param.layer == 0;
    parts.push_back(
        {place.offset_bytes / 4, (place.offset_bytes + place.bytes) / 4, decays ? optimizer.weight_decay : 0});
  }
  std::sort(parts.begin(), parts.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  std::vector<Run> runs;
  for (const Run& part : parts) {
    if (runs.empty() || runs.back().decay != part.decay) {
      runs.push_back(part);
    } else {
      runs.back().end = part.end;
    }
  }
  return runs;
}

std::string update_source(const Source& from) {
  const OptimizerSpec& optimizer = from.spec.optimizer;
  std::string body =
      "/// A step on `size` parameters from `begin` on. Its number and the rate are read from the numbers of the "
      "step.\n"
      "static void update_part(Program& p, std::size_t begin, std::size_t size, double weight_decay) {\n"
      "  const auto part = [&](DeviceSpan<float> buffer) { return runtime::DeviceElements{buffer.data + begin, size}; "
      "};\n";
  body += step_call(optimizer) + "  p.launch(args);\n}\n\n";
  std::vector<std::string> lines;
  if (optimizer.clip_norm > 0)
    lines.push_back(fmt::format("p.launch<ClipNormArgs>({{.max_norm = {}, .g = p.gradients}}, {{}}, p.norm_scratch);",
                                real(optimizer.clip_norm)));
  for (const Run& run : runs_of(from))
    lines.push_back(fmt::format("update_part(p, {}, {}, {});", run.begin, run.end - run.begin, real(run.decay)));
  body += lines.size() == 1 ? fmt::format("void update(Program& p) {{ {} }}\n", lines[0])
                            : fmt::format("void update(Program& p) {{\n  {}\n}}\n", fmt::join(lines, "\n  "));
  return openmp::source_file(from, fmt::format("Update: one step of {}.", optimizer.name),
                             includes({quote("program.h")}), body);
}

/// The text that nvcc gets, for a compiler of the host.
std::string emulated_loops() {
  return fmt::format("// Loops over edges for the emulation.\n#include \"{}\"\n", kDeviceLoopsFile);
}

}  // namespace
}  // namespace cuda

std::vector<SourceFile> emit_cuda(const Specification& specification) {
  GNEISS_ASSERT(specification.plan->value_bytes == 4, "programs for devices are f32");
  const Names names(specification);
  const openmp::Source from{specification, names, Space::kDevice};
  std::vector<SourceFile> files = {
      {"CMakeLists.txt", openmp::build_file(from)},   {"program.h", cuda::program_header(from)},
      {"data.cc", cuda::data_source(from)},           {"parameters.cc", openmp::parameters_source(from)},
      {"setup.cc", cuda::setup_source(from)},         {"forward.cc", cuda::forward_source(from)},
      {"backward.cc", cuda::backward_source(from)},   {"update.cc", cuda::update_source(from)},
      {"inference.cc", cuda::inference_source(from)}, {"scores.cc", cuda::scores_source(from)},
      {"main.cc", openmp::main_source(from)}};
  if (specification.plan->loops.empty()) return files;
  files.push_back({kDeviceLoopsFile, loops_source(*specification.plan, names, Space::kDevice)});
  files.push_back({"loops_emulated.cc", cuda::emulated_loops()});
  return files;
}

}  // namespace gneiss::synth
