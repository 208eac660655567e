// The openmp target: C++ that calls the f32 kernels of Gneiss on named matrices, in the order and on the memory of the
// plan.
//
// A file a phase. Steps that a plan runs by bands of rows become one loop over bands; all others are calls one after
// the other. What is known when the program is written stands in it as a constant, so that a reader sees which kernel
// runs on what.
#include "synth/openmp.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "ir/beside_exchange.h"
#include "synth/calls.h"
#include "synth/loops.h"
#include "synth/target.h"
#include "synth/text.h"

namespace gneiss::synth {
namespace openmp {
namespace {

using ir::Op;
using ir::OpKind;

bool has_band_kernel(const std::string& kernel) {
  constexpr std::string_view kKernels[] = {"attention", "attention_grad", "bce_with_logits", "cross_entropy", "gemm",
                                           "mse",       "sum_rows"};
  return std::find(std::begin(kKernels), std::end(kKernels), kernel) != std::end(kKernels);
}

/// The body of the function of one phase.
class PhaseWriter {
 public:
  PhaseWriter(const Source& from, ir::Phase phase) : from_(from), phase_(phase), lines_(from.names) {
    if (!from.is_rank()) return;
    sums_ = ir::gradient_sums(from.plan());
    under_way_ = phase == ir::Phase::kBackward ? 1 : 0;  // the sum of the loss
  }

  std::string write() {
    const std::vector<ir::Step>& steps = from_.plan().steps;
    if (phase_ == ir::Phase::kBackward) write_sums(ir::GradientSum::kBeforeBackward);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::size_t first = i;
      i = last_with(first);
      if (op_of(steps[first]).phase != phase_) continue;
      if (steps[first].loop >= 0) {
        write_loop(static_cast<std::size_t>(steps[first].loop));
      } else if (steps[first].band >= 0) {
        const auto at = steps.begin() + static_cast<std::ptrdiff_t>(first);
        write_band(std::vector<ir::Step>(at, at + static_cast<std::ptrdiff_t>(i - first + 1)));
      } else if (!runs_in_band(first)) {
        write_alone(steps[first], "  ");
        if (under_way_ > 0) text_ += "  p.communicator->progress();\n";
      }
      write_sums(static_cast<std::int32_t>(i));
    }
    if (phase_ == ir::Phase::kBackward && from_.is_rank()) text_ += "  p.sums.finish(p.communicator);\n";
    return text_;
  }

 private:
  /// Is it a wait or a start that a band beside it runs on its way?
  bool runs_in_band(std::size_t step) const {
    if (!from_.is_rank()) return false;
    const auto at = static_cast<std::int32_t>(step);
    const std::vector<ir::RowBand>& bands = from_.plan().bands;
    return std::any_of(bands.begin(), bands.end(), [&](const ir::RowBand& band) {
      const auto [first, last] = ir::steps_with(from_.plan(), band);
      return at >= first && at <= last;
    });
  }

  /// Starts the sums over the ranks of gradients that are made.
  void write_sums(std::int32_t behind) {
    if (phase_ != ir::Phase::kBackward) return;
    for (const ir::GradientSum& sum : sums_) {
      if (sum.behind != behind) continue;
      const ir::ValueId gradient = from_.program().params[sum.parameter].grad;
      text_ += fmt::format("  p.sums.start(p.communicator, elements(p.{}));\n", from_.names.value(gradient));
      ++under_way_;
    }
  }

  /// Keeps count of what others send meanwhile.
  void count_exchange(const Op& op) {
    if (op.kind == OpKind::halo_start || op.kind == OpKind::halo_add_start) ++under_way_;
    if (op.kind == OpKind::halo_wait || op.kind == OpKind::halo_add_wait) --under_way_;
  }

  /// The last of the steps that run together with this one, which is their first. They run in its phase.
  std::size_t last_with(std::size_t first) const {
    const ir::Plan& plan = from_.plan();
    const ir::Step& step = plan.steps[first];
    if (step.loop >= 0) return static_cast<std::size_t>(plan.loops[static_cast<std::size_t>(step.loop)].last_step);
    if (step.band >= 0) return static_cast<std::size_t>(plan.bands[static_cast<std::size_t>(step.band)].last_step);
    return first;
  }

  const Op& op_of(const ir::Step& step) const { return from_.program().ops[static_cast<std::size_t>(step.op)]; }
  const ir::Type& type(ir::ValueId v) const { return from_.program().type(v); }

  /// A name for what the call of an op is bound to.
  std::string local(const Op& op, std::size_t call, std::size_t calls) {
    const bool named = !op.results.empty() && op.results[0] != ir::kNoValue;
    std::string name = named ? from_.names.value(op.results[0]) : fmt::format("update_{}", ++unnamed_);
    if (op.kind == OpKind::halo_wait) name = from_.names.value(op.inputs[0]) + "_wait";
    return calls > 1 ? fmt::format("{}_part_{}", name, call) : name;
  }

  void write_alone(const ir::Step& step, const std::string& indent) {
    const Op& op = op_of(step);
    text_ += lines_.before(op, indent);
    count_exchange(op);
    const std::vector<Call> calls = calls_of(from_.plan(), from_.spec, from_.names, op);
    if (calls.empty()) return write_fill(op);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::string function = function_of(calls[i], step.variant);
      const std::string line = fmt::format("{}{}(p.context, {});", indent, function, braced(calls[i].fields));
      if (fits(line) && function.find('<') == std::string::npos) {
        text_ += line + "\n";
        continue;
      }
      const std::string name = local(op, i, calls.size()) + "_args";
      text_ += definition(indent, fmt::format("{}<{}>", calls[i].args, calls[i].element), name, calls[i].fields);
      text_ += call(indent, function, {"p.context", name});
    }
  }

  /// Values straight from the graph or a number.
  void write_fill(const Op& op) {
    if (op.results.empty()) return;
    const std::string value = "p." + from_.names.value(op.results[0]);
    const auto graph = static_cast<std::int32_t>(op.attrs.integer("graph", 0));
    if (op.kind == OpKind::constant) {
      text_ += fmt::format("  std::fill_n({0}.data, {0}.size(), {1});\n", value,
                           real(static_cast<float>(op.attrs.real("value", 0))));
    } else if (op.kind == OpKind::edge_weight && from_.program().graphs[static_cast<std::size_t>(graph)].weighted) {
      const std::string object = graph_object(from_, graph);
      text_ += call("  ", "std::copy", {object + ".weights().begin()", object + ".weights().end()", value + ".data"});
    } else if (op.kind == OpKind::edge_weight) {
      text_ += fmt::format("  std::fill_n({0}.data, {0}.size(), 1.0F);\n", value);
    } else if (op.kind == OpKind::degree) {
      const char* side = op.attrs.text("side", "dst") == "dst" ? "in" : "out";
      text_ += fmt::format("  count_edges(p.{}_edges_{}, {});\n", side, from_.names.graph(graph), value);
    }
  }

  /// A loop over edges: which matrices it reads and writes, in the order in which its function counts them.
  void write_loop(std::size_t index) {
    const ir::EdgeLoop& loop = from_.plan().loops[index];
    const ir::LoopValues values = ir::values_of(from_.plan(), loop);
    text_ += lines_.before(op_of(from_.plan().steps[static_cast<std::size_t>(loop.last_step)]), "  ");
    const std::string name = loop_name(from_.plan(), from_.names, index);
    const std::string& graph = from_.names.graph(loop.graph);
    text_ += "  {\n";
    write_list("const Pointers reads", values.reads);
    write_list("const Pointers writes", values.writes);
    write_list("const Matrices totals", values.totals);
    text_ += call("    ", "run_loop",
                  {"p", name, fmt::format("p.{}_edges_{}", loop.out_edges ? "out" : "in", graph), "p.in_edges_" + graph,
                   graph_object(from_, loop.graph) + ".weights()", "reads", "writes", "totals",
                   fmt::format("p.loop_cuts_{}", index)});
    text_ += "  }\n";
    lines_.begin_anew();
  }

  void write_list(const std::string& head, const std::vector<ir::ValueId>& values) {
    std::vector<std::string> items;
    for (const ir::ValueId v : values) items.push_back("p." + from_.names.value(v));
    text_ += items.empty() ? fmt::format("    {};\n", head) : call("    ", head, items);
  }

  struct Bound {
    const Op* op;
    Call call;
    std::string name;
    bool banded;
  };

  void write_band(const std::vector<ir::Step>& steps) {
    const ir::RowBand& band = from_.plan().bands[static_cast<std::size_t>(steps[0].band)];
    const std::string rows = from_.names.rows(type(ir::row_value(op_of(steps[0]))));
    text_ += comment(
        "  ",
        fmt::format("The next calls share their rows ({} of them), at most {} at a time, while those are in cache.",
                    rows, band.band_rows));
    text_ += "  {\n";
    lines_.begin_anew();
    std::vector<Bound> calls;
    std::int64_t used = 0;
    for (const ir::Step& step : steps) {
      const std::int64_t bytes = ir::band_workspace_bytes(step, band.tasks);
      bind_band_call(step, used, bytes, &calls);
      used += bytes;
    }
    for (const Bound& bound : calls) {
      if (bound.banded) text_ += fmt::format("    {}.prepare(p.threads);\n", bound.name);
    }
    const ir::RowOrder order = from_.row_order(band);
    if (order == ir::RowOrder::kAny) {
      text_ += fmt::format("    for_each_band(p.threads, p.cuts_{}, {}, [&](const Band& band) {{\n", steps[0].band,
                           band.band_rows);
      write_band_body(calls, under_way_ > 0);
      text_ += "    });\n";
    } else {
      write_band_in_order(band, steps[0].band, order, calls);
    }
    for (const Bound& bound : calls) {
      if (bound.banded)
        text_ += fmt::format("    {}.finish(p.threads, p.cuts_{}.size());\n", bound.name, steps[0].band);
    }
    text_ += "  }\n";
    lines_.begin_anew();
  }

  /// What is done with a band of rows; on ranks, what others sent comes in between bands.
  void write_band_body(const std::vector<Bound>& calls, bool beside_exchange) {
    for (const Bound& bound : calls) text_ += fmt::format("      {}.run(band);\n", bound.name);
    if (beside_exchange) text_ += "      if (band.thread == 0) p.communicator->progress();\n";
  }

  /// A band beside an exchange that goes on meanwhile: some of its rows, the exchange's wait or start, the other rows.
  void write_band_in_order(const ir::RowBand& band, std::int32_t number, ir::RowOrder order,
                           const std::vector<Bound>& calls) {
    const auto [first, last] = ir::steps_with(from_.plan(), band);
    text_ += "    const auto run_band = [&](const Band& band) {\n";
    write_band_body(calls, true);
    text_ += "    };\n";
    const std::string divide = fmt::format("p.first_tasks_{}", number);
    const std::string end = fmt::format("std::ssize(p.cuts_{}) - 1", number);
    const auto write_rows = [&](const std::string& from, const std::string& to) {
      text_ += call(
          "    ", "for_each_band_of",
          {from, to, "p.threads", fmt::format("p.cuts_{}", number), fmt::format("{}", band.band_rows), "run_band"});
    };
    if (order == ir::RowOrder::kInteriorFirst) {
      text_ += "    // Rows that no edge from another rank comes into, while others' rows are on their way.\n";
      write_rows("0", divide);
      for (std::int32_t i = first; i < band.first_step; ++i)
        write_alone(from_.plan().steps[static_cast<std::size_t>(i)], "    ");
      write_rows(divide, end);
    } else {
      text_ += "    // Rows of others' nodes, which are sent while the own ones are made.\n";
      write_rows(divide, end);
      write_alone(from_.plan().steps[static_cast<std::size_t>(last)], "    ");
      write_rows("0", divide);
    }
  }

  void bind_band_call(const ir::Step& step, std::int64_t offset, std::int64_t bytes, std::vector<Bound>* bound) {
    const Op& op = op_of(step);
    text_ += lines_.before(op, "    ");
    const std::vector<Call> calls = calls_of(from_.plan(), from_.spec, from_.names, op);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool banded = has_band_kernel(calls[i].kernel);
      const std::string name = local(op, i, calls.size());
      const std::string type = calls[i].args + "<float>";
      const std::string function =
          banded ? fmt::format("cpu::{}_bands", calls[i].kernel) : function_of(calls[i], step.variant);
      const std::string scratch = banded ? fmt::format(", p.scratch_part({}, {})", offset, bytes) : "";
      const std::string kind = banded ? "BandedCall" : "RowCall";
      const std::string line =
          fmt::format("    const {} {}({}, {}{}{});", kind, name, function, type, braced(calls[i].fields), scratch);
      if (fits(line)) {
        text_ += line + "\n";
      } else {
        text_ += definition("    ", type, name + "_args", calls[i].fields);
        std::vector<std::string> arguments = {function, name + "_args"};
        if (banded) arguments.push_back(fmt::format("p.scratch_part({}, {})", offset, bytes));
        text_ += call("    ", fmt::format("const {} {}", kind, name), arguments);
      }
      bound->push_back({&op, calls[i], name, banded});
    }
  }

  const Source& from_;
  ir::Phase phase_;
  std::string text_;
  LineComments lines_;
  int unnamed_ = 0;
  int under_way_ = 0;                  ///< exchanges and sums of a rank that were started and not waited for
  std::vector<ir::GradientSum> sums_;  ///< of a rank
};

std::string setup_source(const Source& from) {
  const std::string calls = PhaseWriter(from, ir::Phase::kSetup).write();
  const ir::Plan& plan = from.plan();
  std::string freed;
  for (std::size_t g = 0; g < plan.graph_uses.size(); ++g) {
    const ir::GraphUse& use = plan.graph_uses[g];
    const auto number = static_cast<std::int32_t>(g);
    const bool goes = plan.release_of(ir::Released::kGivenEdges, number) != nullptr ||
                      plan.release_of(ir::Released::kInEdges, number) != nullptr;
    if (!goes || !use.used) continue;
    freed += fmt::format("  {}.drop_edges();\n", graph_object(from, number));
  }
  if (!plan.features_kept) freed += "  p.dataset.features.drop_values();\n";
  if (!freed.empty()) freed = std::string(calls.empty() ? "" : "\n") + "  // No epoch reads these.\n" + freed;
  std::string made;
  for (std::size_t i = 0; i < plan.loss_tiles.size(); ++i) {
    const ir::LossTiles& part = plan.loss_tiles[i];
    const std::string whole = fmt::format("p.{}_tiles_{}", part.out_edges ? "out" : "in", from.names.graph(part.graph));
    made += fmt::format(
        "  p.loss_tiles_{0} = graph::room_for_part({1});\n  graph::fill_part({1}, graph::EntryEnd::{2}, in_loss, "
        "p.threads, &p.loss_tiles_{0});\n",
        i, whole, part.sources ? "kColumn" : "kRow");
  }
  if (!made.empty())
    made =
        "\n  // Edges that end in training nodes.\n  const std::vector<std::uint8_t> in_loss = graph::marks(kNodes, "
        "p.dataset.split.train);\n" +
        made;
  const std::string body = calls + freed + made;
  const std::string function =
      body.empty() ? "void setup(Program&) {\n  // Nothing is.\n}\n" : "void setup(Program& p) {\n" + body + "}\n";
  return source_file(from, "What is computed once, before the first epoch.",
                     includes({"<algorithm>", "", quote("program.h")}), function);
}

std::string forward_source(const Source& from) {
  const std::string loss = from.names.value(from.program().output("loss"));
  return source_file(from, "Forward: the loss of the training nodes.", includes({quote("program.h")}),
                     "float forward(Program& p, std::uint64_t epoch) {\n  p.epoch = epoch;\n" +
                         PhaseWriter(from, ir::Phase::kForward).write() +
                         fmt::format("  return p.{}.at(0, 0);\n}}\n", loss));
}

std::string backward_source(const Source& from) {
  const std::string calls = PhaseWriter(from, ir::Phase::kBackward).write();
  const std::string function = calls.empty() ? "void backward(Program&) {\n  // forward() did it, band by band.\n}\n"
                                             : "void backward(Program& p) {\n" + calls + "}\n";
  return source_file(from, "Backward: the gradient of every parameter.", includes({quote("program.h")}), function);
}

std::string inference_source(const Source& from) {
  return source_file(from, "Inference: the logits of all nodes, without dropout.", includes({quote("program.h")}),
                     "void infer(Program& p) {\n" + PhaseWriter(from, ir::Phase::kInference).write() + "}\n");
}

/// The call of the optimizer's kernel on a run of the flat buffers.
std::string step_call(const OptimizerSpec& optimizer) {
  if (optimizer.name == "sgd") {
    return definition("  ", "SgdStepArgs<float>", "args",
                      {{"step", "p.step"},
                       {"lr", "lr"},
                       {"momentum", real(optimizer.momentum)},
                       {"weight_decay", "weight_decay"},
                       {"nesterov", optimizer.nesterov ? "true" : "false"},
                       {"w", "part(p.parameters)"},
                       {"g", "part(p.gradients)"},
                       {"velocity", optimizer.momentum != 0 ? "part(p.moments)" : "{}"}}) +
           "  cpu::sgd_step(p.context, args);\n";
  }
  return definition("  ", "AdamStepArgs<float>", "args",
                    {{"step", "p.step"},
                     {"lr", "lr"},
                     {"beta1", real(optimizer.beta1)},
                     {"beta2", real(optimizer.beta2)},
                     {"eps", real(optimizer.eps)},
                     {"weight_decay", "weight_decay"},
                     {"decoupled", optimizer.name == "adamw" ? "true" : "false"},
                     {"w", "part(p.parameters)"},
                     {"g", "part(p.gradients)"},
                     {"m", "part(p.moments)"},
                     {"v", "part(p.squares)"}}) +
         "  cpu::adam_step(p.context, args);\n";
}

std::string update_source(const Source& from) {
  const OptimizerSpec& optimizer = from.spec.optimizer;
  std::string body =
      "/// A step on `size` parameters from `begin` on.\n"
      "static void update_part(Program& p, double lr, std::size_t begin, std::size_t size, double weight_decay) {\n"
      "  const auto part = [&](Buffer<float>& buffer) { return buffer.span().subspan(begin, size); };\n";
  body += step_call(optimizer) + "}\n\nvoid update(Program& p, double lr) {\n";
  if (optimizer.clip_norm > 0) {
    body += fmt::format(
        "  double norm = 0;\n  cpu::clip_norm(p.context, {{.max_norm = {}, .g = p.gradients.span(), .norm = "
        "&norm}});\n",
        real(optimizer.clip_norm));
  }
  body += "  ++p.step;\n";
  std::vector<Declaration> parts;
  for (const ir::Param& param : from.program().params) {
    if (!param.trainable) continue;
    const ir::Placement& place = from.plan().placements[static_cast<std::size_t>(param.value)];
    const bool decays = !optimizer.decay_first_layer_only || param.layer == 0;
    const double decay = decays ? optimizer.weight_decay : 0;
    parts.push_back(
        {fmt::format("update_part(p, lr, {}, {}, {});", place.offset_bytes / 4, place.bytes / 4, real(decay)),
         param.name});
  }
  body += declarations("  ", parts) + "}\n";
  return source_file(from, fmt::format("Update: one step of {}.", optimizer.name), includes({quote("program.h")}),
                     body);
}

}  // namespace

std::string source_file(const Source& from, const std::string& title, const std::string& headers,
                        const std::string& body) {
  const std::string space = from.is_rank() ? "program::" + rank_name(from.spec.rank) : "program";
  return fmt::format("// {0}\n{1}\nnamespace {2} {{\n\n{3}\n}}  // namespace {2}\n", title, headers, space, body);
}

std::string function_of(const Call& call, const std::string& variant) {
  const std::string& kernel = call.kernel;
  if (variant == "reference") return fmt::format("reference::{}<{}>", kernel, call.element);
  if (variant == "ranks") return fmt::format("{}<{}>", kernel, call.element);
  if (variant == "onednn") return fmt::format("onednn::{}", kernel);
  GNEISS_ASSERT(variant.starts_with("cpu"), "kernel {} has no function for variant {}", kernel, variant);
  return fmt::format("cpu::{}{}", kernel, variant.substr(3));
}

std::string graph_object(const Source& from, std::int32_t graph) {
  return graph == 0 ? "p.dataset.graph" : "p.graph_" + from.names.graph(graph);
}

struct PhaseFile {
  const char* name;
  std::string (*write)(const Source& from);
};

static constexpr PhaseFile kPhaseFiles[] = {{"data", data_source},           {"parameters", parameters_source},
                                            {"setup", setup_source},         {"forward", forward_source},
                                            {"backward", backward_source},   {"update", update_source},
                                            {"inference", inference_source}, {"scores", scores_source}};

std::vector<SourceFile> phase_sources(const Source& from) {
  std::vector<SourceFile> files = {{"program.h", program_header(from)}};
  for (const PhaseFile& file : kPhaseFiles) files.push_back({fmt::format("{}.cc", file.name), file.write(from)});
  return files;
}

std::vector<std::string> phase_names() {
  std::vector<std::string> names;
  for (const PhaseFile& file : kPhaseFiles) names.emplace_back(file.name);
  return names;
}

std::string rank_name(int rank) { return fmt::format("rank_{}", rank); }

}  // namespace openmp

std::vector<SourceFile> emit_openmp(const Specification& specification) {
  GNEISS_ASSERT(specification.plan->value_bytes == 4, "programs are written for f32");
  const Names names(specification);
  const openmp::Source from{specification, names};
  std::vector<SourceFile> files = {{"CMakeLists.txt", openmp::build_file(from)}};
  for (SourceFile& file : openmp::phase_sources(from)) files.push_back(std::move(file));
  files.push_back({"main.cc", openmp::main_source(from)});
  const ir::Plan& plan = from.plan();
  if (!plan.loops.empty()) files.push_back({"loops.cc", loops_source(plan, names)});
  return files;
}

}  // namespace gneiss::synth
