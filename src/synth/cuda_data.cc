// The cuda target: program.h, data.cc and scores.cc. Data and graphs are made on the host and copied once.
#include <fmt/format.h>

#include <algorithm>

#include "synth/calls.h"
#include "synth/cuda.h"
#include "synth/loops.h"
#include "synth/text.h"

namespace gneiss::synth::cuda {
namespace {

using ir::Storage;

bool validates(const Source& from) { return from.program().output("val_loss") != ir::kNoValue; }
/// Does the optimizer keep a moment, or a second one?
bool has_moments(const OptimizerSpec& optimizer) { return optimizer.name != "sgd" || optimizer.momentum != 0; }
/// Is the score one of counts? These are taken on the device.
bool counts_scores(const Source& from) {
  const std::string& metric = from.spec.epochs.metric;
  return metric == "kAccuracy" || metric == "kMicroF1" || metric == "kMacroF1";
}
bool by_class(const Source& from) { return from.spec.epochs.metric != "kAccuracy"; }
bool has_squares(const OptimizerSpec& optimizer) { return optimizer.name != "sgd"; }

std::string structure_members(const Source& from) {
  std::vector<Declaration> list;
  const std::vector<bool> weights = graphs_with_weights(from);
  for (std::size_t g = 0; g < from.program().graphs.size(); ++g) {
    const ir::GraphUse& use = from.plan().graph_uses[g];
    if (!use.used) continue;
    const std::string& name = from.names.graph(static_cast<std::int32_t>(g));
    list.push_back({fmt::format("Pattern in_edges_{};", name), "a row for each destination, its sources ascending"});
    if (weights[g]) list.push_back({fmt::format("DeviceSpan<const float> weights_{};", name), "of these edges"});
    if (use.transpose)
      list.push_back({fmt::format("Pattern out_edges_{};", name), "a row for each source, its destinations ascending"});
  }
  if (from.spec.data.sparse_features) {
    list.push_back({"Pattern feature_rows;", "where the stored values of the features stand"});
    if (from.plan().feature_transpose) {
      list.push_back({"Pattern feature_columns;", "a row for each feature"});
      if (!from.plan().feature_slots)
        list.push_back({"DeviceSpan<const float> transposed_values;", "of the features by columns"});
    }
  }
  list.push_back({"DeviceSpan<const std::int64_t> ids;", "of nodes in the file, which key random draws"});
  list.push_back({"LossOperandsIn<Space::kDevice> training;", "what the loss is taken of"});
  if (validates(from) || counts_scores(from))
    list.push_back({"LossOperandsIn<Space::kDevice> validation;", "the same of the validation nodes"});
  if (counts_scores(from)) {
    list.push_back({"DeviceSpan<const NodeId> training_nodes;", "that are scored, as those of the validation"});
    list.push_back({"DeviceSpan<const NodeId> test_nodes;", ""});
    list.push_back({"DeviceSpan<double> counts;", "of a part's scores"});
    list.push_back({"DeviceSpan<std::byte> count_scratch;", ""});
  }
  if (!from.spec.class_weights.empty()) list.push_back({"DeviceSpan<const float> class_weights;", "of the loss"});
  return declarations("  ", list);
}

std::string buffer_members(const Source& from) {
  std::string text = "  DeviceSpan<float> parameters;\n  DeviceSpan<float> gradients;\n  DeviceSpan<float> states;\n";
  const OptimizerSpec& optimizer = from.spec.optimizer;
  if (has_moments(optimizer)) text += "  DeviceSpan<float> moments;\n";
  if (has_squares(optimizer)) text += "  DeviceSpan<float> squares;\n";
  if (optimizer.clip_norm > 0) text += "  DeviceSpan<std::byte> norm_scratch;\n";
  return text + "  DeviceSpan<std::byte> constants;\n  DeviceSpan<std::byte> arena;\n";
}

/// Where a value lies, as an expression.
std::string address(const Source& from, ir::ValueId v, const char* element) {
  const ir::Placement& place = from.place(v);
  const auto at = [&](const char* buffer) {
    return fmt::format("at<{}>(p.{}.data, {})", element, buffer, place.offset_bytes);
  };
  switch (place.storage) {
    case Storage::kParameter:
      return at("parameters");
    case Storage::kGradient:
      return at("gradients");
    case Storage::kState:
      return at("states");
    case Storage::kConstant:
      return at("constants");
    case Storage::kArena:
      return at("arena");
    case Storage::kInput: {
      const bool halves = ir::is_half(from.program().type(v).scalar);
      const bool sparse = from.program().type(v).layout == ir::Layout::kSparse;
      return fmt::format("p.copy<{}>(p.dataset.features.{}.span()).data", element,
                         halves   ? "halves"
                         : sparse ? "values"
                                  : "dense");
    }
    case Storage::kNone:
    case Storage::kFile:
    case Storage::kBand:
    case Storage::kLoop:
      break;
  }
  return "nullptr";
}

std::string place_value(const Source& from, ir::ValueId v) {
  const ir::Type& type = from.program().type(v);
  const std::string value = "p." + from.names.value(v);
  std::string members;
  if (ir::is_half(type.scalar)) {
    members = fmt::format("{}, {}, {}", type.scalar == ir::Scalar::kBf16 ? "HalfType::kBf16" : "HalfType::kF16",
                          address(from, v, "std::uint16_t"), type.cols);
  } else {
    const bool sparse = type.layout == ir::Layout::kSparse;
    const std::int64_t stride = from.place(v).storage == Storage::kInput ? type.cols : from.plan().stride(v);
    members = fmt::format("{}, {}, {}", address(from, v, type.scalar == ir::Scalar::kIndex ? "std::int32_t" : "float"),
                          sparse ? "kFeatureEntries" : from.names.rows(type), sparse ? 1 : type.cols);
    if (!sparse && stride > type.cols) members += fmt::format(", {}", stride);
  }
  return fmt::format("  {} = {{{}}};\n", value, members);
}

/// The graph object of a graph of the program, while data are read.
std::string host_graph(const Source& from, std::int32_t graph) {
  return graph == 0 ? "p.dataset.graph" : from.names.graph(graph);
}

std::string derived_graph(const Source& from, const ir::GraphDef& def) {
  const std::string base = host_graph(from, def.base);
  switch (def.origin) {
    case ir::GraphOrigin::kGiven:
    case ir::GraphOrigin::kReversed:  // of devices that fetch: no program is written for them
      break;
    case ir::GraphOrigin::kAddRemainingSelfLoops:
      return fmt::format("graph::add_remaining_self_loops({}, p.threads)", base);
    case ir::GraphOrigin::kReplaceSelfLoops:
      return fmt::format("graph::replace_self_loops({}, p.threads)", base);
    case ir::GraphOrigin::kIntoLossRows:
      return fmt::format("graph::edges_into({}, p.dataset.split.train, p.threads)", base);
    case ir::GraphOrigin::kLossRows:
      return "graph::selection(kNodes, p.dataset.split.train)";
  }
  return {};
}

/// Empty for a model that reads no edges.
std::string graph_function(const Source& from) {
  const ir::Program& program = from.program();
  const std::vector<bool> weights = graphs_with_weights(from);
  std::string text;
  const std::vector<ir::GraphUse>& uses = from.plan().graph_uses;
  if (std::any_of(uses.begin(), uses.end(), [](const ir::GraphUse& use) { return use.used && use.transpose; })) {
    text += R"(/// Edges by source; `slots`: they name their places among the in-edges.
static Pattern send_transpose(Program& p, const SparsePattern& in_edges, bool slots) {
  return p.send(graph::transpose(in_edges, slots, p.threads).pattern());
}

)";
  }
  std::string sent;
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const auto index = static_cast<std::int32_t>(g);
    const ir::GraphUse& use = from.plan().graph_uses[g];
    if (!ir::is_made(from.plan(), g)) continue;
    const std::string object = host_graph(from, index);
    const std::string& name = from.names.graph(index);
    if (g > 0) {
      const std::string made = derived_graph(from, program.graphs[g]);
      const std::string line = fmt::format("  const graph::Graph {} = {};", object, made);
      sent += fits(line) ? line + "\n" : fmt::format("  const graph::Graph {} =\n      {};\n", object, made);
      sent += openmp::check(fmt::format("edges of {}", program.graphs[g].name), object + ".num_edges()",
                            from.names.edge_count(index));
    }
    if (!use.used) continue;
    sent += fmt::format("  p.in_edges_{} = p.send({}.in_edges());\n", name, object);
    if (weights[g]) sent += fmt::format("  p.weights_{} = p.send({}.weights());\n", name, object);
    if (use.transpose)
      sent += fmt::format("  p.out_edges_{} = send_transpose(p, {}.in_edges(), {});\n", name, object, use.slots);
  }
  if (from.spec.data.sparse_features) {
    sent += "  p.feature_rows = p.send(p.dataset.features.pattern());\n";
    if (from.plan().feature_transpose) {
      sent += call("  ", "const graph::Transpose by_columns = graph::transpose",
                   {"p.dataset.features.pattern()", from.plan().feature_slots ? "true" : "p.dataset.features.values",
                    "p.threads"});
      sent += "  p.feature_columns = p.send(by_columns.pattern());\n";
      if (!from.plan().feature_slots) sent += "  p.transposed_values = p.send<float>(by_columns.values);\n";
    }
  }
  if (sent.empty()) return {};
  return text +
         "/// Makes the graphs, their transposes and that of the features, and copies them.\nstatic void "
         "send_graphs(Program& p) {\n" +
         sent + "}\n\n";
}

std::string label_functions(const Source& from) {
  const bool targets = has_targets(from.program());
  std::string text = R"(/// Copies labels, and which rows of them count.
static LossOperandsIn<Space::kDevice> send_rows(Program& p, const data::Labels& labels,
                                                const std::vector<NodeId>& rows) {
  LossOperandsIn<Space::kDevice> sent;
  sent.rows = p.send<NodeId>(rows);
)";
  text += targets ? R"(  const std::int64_t count = std::ssize(labels.targets.span()) / labels.num_classes;
  sent.targets = {p.copy<float>(labels.targets.span()).data, count, labels.num_classes};
  sent.labelled = labelled_entries(p.threads, {labels.targets.data(), count, labels.num_classes}, rows);
)"
                  : "  sent.labels = p.send<std::int32_t>(labels.classes.span());\n";
  text += "  return sent;\n}\n\nstatic void send_labels(Program& p) {\n";
  text += "  p.ids = p.send<std::int64_t>(p.dataset.orig_id);\n";
  if (counts_rows_alone(from.program())) {
    text +=
        "  std::vector<NodeId> rows(p.dataset.split.train.size());  // the loss has rows of its own\n"
        "  std::iota(rows.begin(), rows.end(), NodeId{0});\n"
        "  p.training = send_rows(p, data::labels_of(p.dataset.labels, p.dataset.split.train), rows);\n";
  } else {
    text += "  p.training = send_rows(p, p.dataset.labels, p.dataset.split.train);\n";
  }
  if (validates(from) || counts_scores(from)) {
    text += "  const data::Split split = epochs::labelled_split(p.dataset);\n";
    text += "  p.validation = send_rows(p, p.dataset.labels, split.val);\n";
  }
  if (counts_scores(from))
    text += "  p.training_nodes = p.send<NodeId>(split.train);\n  p.test_nodes = p.send<NodeId>(split.test);\n";
  if (!from.spec.class_weights.empty()) text += "  p.class_weights = p.send<float>(kClassWeights);\n";
  return text + "}\n";
}

/// For the scores of one part at a time.
std::string room_for_counts(const Source& from) {
  const ir::ValueId logits = from.program().output("logits");
  std::int64_t columns = by_class(from) ? from.program().type(logits).cols : 1;
  if (has_targets(from.program())) columns = from.spec.data.num_classes;
  return fmt::format(R"(  p.counts = p.take<double>({});
  OnDevice<CountScoresArgs> scored;
  scored.logits = p.{};
  scored.targets = p.validation.targets;
  scored.by_class = {};
  scored.rows.size = std::max({{p.training_nodes.size, p.validation.rows.size, p.test_nodes.size}});
  p.count_scratch = p.take<std::byte>(p.scratch_bytes(scored));
)",
                     4 * columns, from.names.value(logits), by_class(from));
}

/// Empty where nobody knows what the program takes.
std::string room_function(const Source& from) {
  if (from.spec.device_parts.empty()) return {};
  std::string text = R"(
/// What is taken of the device, in bytes. Its room is looked at before.
static runtime::DeviceLayout what_is_taken() {
  runtime::DeviceLayout layout;
)";
  for (const auto& [what, bytes] : from.spec.device_parts)
    text += fmt::format("  layout.parts.push_back({{{}, {}, 0}});\n", quote(what), bytes);
  return text + fmt::format("  layout.bytes = {};\n  return layout;\n}}\n", from.spec.device_bytes);
}

std::string memory_function(const Source& from) {
  const ir::Plan& plan = from.plan();
  const OptimizerSpec& optimizer = from.spec.optimizer;
  std::string text =
      "// Values whose lifetimes do not overlap share the arena; numbers are offsets in bytes.\nstatic void "
      "lay_out_memory(Program& p) {\n";
  const auto zeros = [&](const char* name, std::int64_t bytes) {
    text += fmt::format("  p.{} = p.zeros<float>({});\n", name, bytes / 4);
  };
  zeros("parameters", plan.parameter_bytes);
  zeros("gradients", plan.parameter_bytes);
  zeros("states", plan.state_bytes);
  if (has_moments(optimizer)) zeros("moments", plan.parameter_bytes);
  if (has_squares(optimizer)) zeros("squares", plan.parameter_bytes);
  if (optimizer.clip_norm > 0)
    text += "  p.norm_scratch = p.take<std::byte>(p.scratch_bytes<ClipNormArgs>({.g = p.gradients}));\n";
  text += fmt::format(
      "  p.constants = p.take<std::byte>({});\n  p.arena = p.take<std::byte>({});\n  p.scratch = {{p.arena.data, "
      "{}}};\n",
      plan.constant_bytes, plan.arena_bytes, plan.workspace_bytes);
  for (const ir::ValueId v : openmp::named_values(from)) text += place_value(from, v);
  if (counts_scores(from)) text += room_for_counts(from);
  return text + fmt::format("  p.guard = p.{}.data;\n}}\n", from.names.value(from.program().output("loss")));
}

/// Reads the data and fills the device.
std::string filling_lines(const Source& from, bool has_graphs) {
  if (from.spec.device_parts.empty())
    return std::string("  load(settings, p);\n") + (has_graphs ? "  send_graphs(p);\n" : "") +
           "  send_labels(p);\n  lay_out_memory(p);\n";
  return std::string("  runtime::check_room(what_is_taken(), p.device.get());\n  load(settings, p);\n") +
         "  runtime::take_room(what_is_taken(), p.device.get(), [&] {\n" + (has_graphs ? "    send_graphs(p);\n" : "") +
         "    send_labels(p);\n    lay_out_memory(p);\n  });\n";
}

}  // namespace

std::vector<bool> graphs_with_weights(const Source& from) {
  std::vector<bool> read(from.program().graphs.size());
  for (const ir::Op& op : from.program().ops) {
    if (op.kind != ir::OpKind::edge_weight) continue;
    const auto graph = static_cast<std::size_t>(op.attrs.integer("graph", 0));
    read[graph] = from.program().graphs[graph].weighted;
  }
  return read;
}

/// What forward, backward and the rest name loops over edges by.
static std::string loop_declarations(const Source& from) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < from.plan().loops.size(); ++i) names.push_back(loop_name(from.plan(), from.names, i));
  if (names.empty()) return {};
  const bool sums = std::any_of(from.plan().loops.begin(), from.plan().loops.end(),
                                [](const ir::EdgeLoop& loop) { return loop.task_bytes > 0; });
  if (sums) names.emplace_back(kLoopTotals);
  std::string text = "\n// Loops over edges (loops.cu), as the emulation and as cards run them.\n";
  for (const std::string& name : names) {
    text += call("", fmt::format("extern \"C\" void {}", name),
                 {"const void* arguments", "std::int64_t first", "std::int64_t step"});
  }
  text += "#ifdef PROGRAM_HAS_CUDA\n";
  for (const std::string& name : names) {
    text += call("", fmt::format("extern \"C\" const char* {}_on_card", name),
                 {"void* stream", "unsigned blocks", "unsigned threads", "const void* arguments"});
  }
  return text + "#define ON_CARD(name) name##_on_card\n#else\n#define ON_CARD(name) nullptr\n#endif\n";
}

std::string program_header(const Source& from) {
  const Specification& spec = from.spec;
  std::string text =
      comment("", fmt::format("{} on {}: a training program, written by gneiss {} (gneiss synth --target cuda).",
                              spec.model, spec.data.title, spec.version));
  text += R"(//
//   data.cc        reads the data, makes the graphs, copies them, lays out memory of the device
//   parameters.cc  first values of the parameters, and how they are saved
//   setup.cc       what is computed once
//   forward.cc     the loss of the training nodes
//   backward.cc    the gradients
//   update.cc      a step of the optimizer
//   inference.cc   logits without dropout
//   scores.cc      scores and loss of the three parts of the nodes
)" +
          std::string(from.plan().loops.empty()
                          ? ""
                          : "//   loops.cu       loops over edges; loops_emulated.cc: the same for the emulation\n") +
          R"(//   main.cc        options, and the loop over epochs
//
// Comments of the form `FILE:LINE` show the line of the model that the code below comes from.
#pragma once

)";
  text += includes({"<cstddef>", "<cstdint>", "<span>", "<string>", "<vector>", "", quote("base/buffer.h"),
                    quote("base/half.h"), quote("data/dataset.h"), quote("graph/graph.h"), quote("kernels/call.h"),
                    quote("kernels/cuda/device_kernels.h"), quote("runtime/device_program.h")});
  text += R"(
namespace program {

using namespace gneiss;
using namespace gneiss::kernels;
using runtime::elements;
using runtime::kFirst;
using runtime::kSecond;
using runtime::kThird;
using runtime::then;
using Matrix = MatrixView<float, Space::kDevice>;
using Indices = MatrixView<std::int32_t, Space::kDevice>;
using Halves = HalfElements<std::uint16_t, Space::kDevice>;
using Pattern = SparsePatternIn<Space::kDevice>;

// The data that this program is for: others of these sizes will do.
)";
  text += openmp::sizes(from) + openmp::class_weights(from) + openmp::settings_struct(from);
  text +=
      R"(/// Everything that the phases work on, in memory of the device. Matrices are views, laid out in data.cc.
struct Program : runtime::DeviceProgram {
  using DeviceProgram::DeviceProgram;

  data::Dataset dataset;  // on the host: labels and splits, once the rest was copied
  int threads = 1;        // of the host
  std::uint64_t seed = 0;
  std::int64_t step = 0;

)";
  text += structure_members(from) + "\n" + buffer_members(from) + "\n" + openmp::value_members(from);
  text += R"(
  runtime::RecordedWork recorded_step;
  runtime::RecordedWork recorded_inference;
};

)" + openmp::scores_struct() +
          R"(/// Weights and states on the host, copied from the device and back.
struct Snapshot {
  explicit Snapshot(const Program& p) : parameters(p.parameters.size), states(p.states.size) {}
  void keep(const Program& p) {
    p.fetch(parameters.span(), p.parameters);
    p.fetch(states.span(), p.states);
  }
  void put_back(Program& p) const {
    p.store(p.parameters, parameters.span());
    p.store(p.states, states.span());
  }

  Buffer<float> parameters;
  Buffer<float> states;
};

void load_and_lay_out(const Settings& settings, Program& p);
void initialize_parameters(Program& p);
void save_parameters(const Program& p, const std::string& path, std::int64_t epochs);
void setup(Program& p);
// These enqueue kernels and do not wait.
void forward(Program& p);
void backward(Program& p);
void update(Program& p);
void infer(Program& p);
Scores evaluate(Program& p);
)" + loop_declarations(from) +
          "\n}  // namespace program\n";
  return text;
}

std::string data_source(const Source& from) {
  std::string body = openmp::expect_function() + R"(
/// What lies `offset` bytes into a buffer.
template <class T>
T* at(void* buffer, std::int64_t offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(buffer) + offset);
}

/// Reads the data and holds them against what the program was written for.
static void load(const Settings& settings, Program& p) {
)" + openmp::load_lines(from, "p.dataset");
  if (counts_rows_alone(from.program()))
    body += openmp::check("training nodes", "std::ssize(p.dataset.split.train)", openmp::loss_row_count(from));
  const std::string graphs = graph_function(from);
  body += "}\n\n" + graphs + label_functions(from) + room_function(from) + "\n" + memory_function(from) + R"(
void load_and_lay_out(const Settings& settings, Program& p) {
  p.threads = settings.threads > 0 ? settings.threads : available_threads();
  p.seed = settings.seed;
)" + filling_lines(from, !graphs.empty()) +
          R"(  // The device has them now.
  p.dataset.graph.drop_edges();
  p.dataset.features.drop_values();
}
)";
  std::vector<std::string> headers = {"<numeric>", "", quote("base/parallel.h"), quote("data/load.h")};
  const bool reorders = from.spec.data.node_order != "none";
  if (reorders) headers.push_back(quote("data/preprocess.h"));
  if (validates(from) || counts_scores(from)) headers.push_back(quote("epochs/metrics.h"));
  headers.push_back(quote("gneiss/error.h"));
  if (reorders) headers.push_back(quote("graph/reorder.h"));
  if (has_targets(from.program())) headers.push_back(quote("kernels/labelled_entries.h"));
  headers.push_back(quote("program.h"));
  if (!from.spec.device_parts.empty()) headers.push_back(quote("runtime/device_layout.h"));
  if (counts_scores(from)) headers.insert(headers.begin(), "<algorithm>");
  return openmp::source_file(from, "Data, graphs and memory.", includes(headers), body);
}

/// Scores of counts that the device takes.
static std::string counted_scores_source(const Source& from) {
  const std::string logits = from.names.value(from.program().output("logits"));
  const std::string loss =
      validates(from) ? fmt::format("p.read(p.{})", from.names.value(from.program().output("val_loss"))) : "kUndefined";
  const std::string body = fmt::format(
      R"(constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// The score of some nodes. How predictions meet their labels is counted on the device; only counts come back.
static double score(Program& p, epochs::Evaluator& evaluator, DeviceSpan<const NodeId> nodes) {{
  if (nodes.size == 0) return kUndefined;
  static std::vector<double> counts(p.counts.size);
  const OnDevice<CountScoresArgs> args = {{
      .logits = p.{1},
      .labels = p.validation.labels,
      .targets = p.validation.targets,
      .rows = nodes,
      .by_class = {2},
      .counts = p.counts,
  }};
  p.launch(args, {{}}, p.count_scratch);
  p.fetch(std::span<double>(counts), p.counts);
  return evaluator.score_of(counts);
}}

Scores evaluate(Program& p) {{
  static epochs::Evaluator evaluator(epochs::Metric::{0}, p.dataset.labels, p.threads);
  p.recorded_inference.run(p.device.get(), p.arena, [&] {{ infer(p); }});
  const double training = score(p, evaluator, p.training_nodes);
  const double validation = score(p, evaluator, p.validation.rows);
  const double test = score(p, evaluator, p.test_nodes);
  return {{training, validation, test, {3}, {4}}};
}}
)",
      from.spec.epochs.metric, logits, by_class(from), loss, validates(from) ? "p.validation.rows.size > 0" : "false");
  return openmp::source_file(
      from, "Scores of the training, validation and test nodes.",
      includes({"<limits>", "<span>", "<vector>", "", quote("epochs/metrics.h"), quote("program.h")}), body);
}

std::string scores_source(const Source& from) {
  if (counts_scores(from)) return counted_scores_source(from);
  const std::string logits = from.names.value(from.program().output("logits"));
  const std::string loss =
      validates(from) ? fmt::format("p.read(p.{})", from.names.value(from.program().output("val_loss"))) : "kUndefined";
  const std::string body = fmt::format(
      R"(Scores evaluate(Program& p) {{
  static const data::Split split = epochs::labelled_split(p.dataset);
  static epochs::Evaluator evaluator(epochs::Metric::{0}, p.dataset.labels, p.threads);
  static Buffer<float> copy(static_cast<std::size_t>(p.{1}.rows * p.{1}.stride));
  constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
  p.recorded_inference.run(p.device.get(), p.arena, [&] {{ infer(p); }});
  p.fetch(copy.span(), {{p.{1}.data, copy.size()}});
  const ConstMatrixView<float> logits(copy.data(), p.{1}.rows, p.{1}.cols, p.{1}.stride);
  const auto score = [&](const std::vector<NodeId>& nodes) {{
    return nodes.empty() ? kUndefined : evaluator.score(logits, nodes);
  }};
  return {{score(split.train), score(split.val), score(split.test), {2}, {3}}};
}}
)",
      from.spec.epochs.metric, logits, loss, validates(from) ? "!split.val.empty()" : "false");
  return openmp::source_file(from, "Scores of the training, validation and test nodes.",
                             includes({"<limits>", "", quote("epochs/metrics.h"), quote("program.h")}), body);
}

}  // namespace gneiss::synth::cuda
