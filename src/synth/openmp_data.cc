// The openmp target: data.cc and parameters.cc.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "synth/calls.h"
#include "synth/openmp.h"
#include "synth/text.h"

namespace gneiss::synth::openmp {
namespace {

using ir::Storage;

/// Where a value lies, as an expression; its matrix, if it has one.
std::string address(const Source& from, ir::ValueId v) {
  const ir::Placement& place = from.place(v);
  const auto at = [&](const char* buffer) { return fmt::format("p.{}, {}", buffer, place.offset_bytes); };
  switch (place.storage) {
    case Storage::kParameter:
      return at("parameters");
    case Storage::kGradient:
      return at("gradients");
    case Storage::kState:
      return at("states");
    case Storage::kConstant:
      return at("constants");
    case Storage::kFile:  // a written program keeps it in memory, behind the others
      return fmt::format("p.constants, {}", from.plan().constant_bytes + place.offset_bytes);
    case Storage::kArena:
      return at("arena");
    case Storage::kBand:
      return at("bands");
    case Storage::kNone:
    case Storage::kInput:
    case Storage::kLoop:
      break;
  }
  return {};
}

std::string place_value(const Source& from, ir::ValueId v) {
  const ir::Type& type = from.program().type(v);
  const std::string value = "p." + from.names.value(v);
  const bool sparse = type.layout == ir::Layout::kSparse;
  const std::string shape = sparse ? "kFeatureEntries, 1" : fmt::format("{}, {}", from.names.rows(type), type.cols);
  const Storage storage = from.place(v).storage;
  if (ir::is_half(type.scalar)) {
    const char* format = type.scalar == ir::Scalar::kBf16 ? "HalfType::kBf16" : "HalfType::kF16";
    const std::string data = storage == Storage::kInput ? "p.dataset.features.halves.data()"
                                                        : fmt::format("at<std::uint16_t>({})", address(from, v));
    return fmt::format("  {} = {{{}, {}, {}}};\n", value, format, data, type.cols);
  }
  if (storage == Storage::kNone) return fmt::format("  {} = {{nullptr, {}}};\n", value, shape);
  if (storage == Storage::kInput)
    return fmt::format("  {} = {{p.dataset.features.{}.data(), {}}};\n", value, sparse ? "values" : "dense", shape);
  if (storage == Storage::kBand) return fmt::format("  {} = in_band({}, {});\n", value, address(from, v), shape);
  const char* element = type.scalar == ir::Scalar::kIndex ? "std::int32_t" : "float";
  const std::int64_t stride = from.plan().stride(v);
  return fmt::format("  {} = {{at<{}>({}), {}{}}};\n", value, element, address(from, v), shape,
                     stride > type.cols ? fmt::format(", {}", stride) : "");
}

std::string load_options(const data::LoadOptions& load) {
  const data::LoadOptions usual;
  std::string text;
  const auto set = [&](const char* member, const std::string& value) {
    text += fmt::format("  options.{} = {};\n", member, value);
  };
  const auto set_text = [&](const char* member, const std::string& value, const std::string& initial) {
    if (value != initial) set(member, quote(value));
  };
  const auto set_flag = [&](const char* member, bool value) {
    if (value) set(member, "true");
  };
  const auto set_choice = [&](const char* member, const std::optional<bool>& value) {
    if (value) set(member, *value ? "true" : "false");
  };
  set_text("format", load.format, usual.format);
  set_choice("to_undirected", load.to_undirected);
  set_choice("remove_self_loops", load.remove_self_loops);
  set_flag("coalesce", load.coalesce);
  set_flag("add_self_loops", load.add_self_loops);
  set_flag("ignore_weights", load.ignore_weights);
  set_flag("largest_component", load.largest_component);
  set_choice("binarize", load.binarize);
  set_text("feature_norm", load.feature_norm, usual.feature_norm);
  set_text("feature_form", load.feature_form, usual.feature_form);
  set_text("feature_dtype", load.feature_dtype, usual.feature_dtype);
  set_text("features_path", load.features_path.string(), "");
  set_text("labels_path", load.labels_path.string(), "");
  set_text("label_kind", load.label_kind, usual.label_kind);
  set_text("train_ids", load.train_ids.string(), "");
  set_text("val_ids", load.val_ids.string(), "");
  set_text("test_ids", load.test_ids.string(), "");
  set_text("tables.separator", load.tables.separator, "");
  set_text("tables.decimal", load.tables.decimal, "");
  set_choice("tables.header", load.tables.header);
  set_text("tables.source_column", load.tables.source_column, "");
  set_text("tables.target_column", load.tables.target_column, "");
  set_text("tables.weight_column", load.tables.weight_column, "");
  set_text("tables.id_column", load.tables.id_column, "");
  set_text("tables.label_column", load.tables.label_column, "");
  set_flag("allow_nan", load.allow_nan);
  return text;
}

/// Reads the data and holds them against what the program was written for.
std::string load_function(const Source& from) {
  std::string text = "static void load(const Settings& settings, Program& p) {\n" + load_lines(from, "p.dataset");
  if (counts_rows_alone(from.program()))
    text += check("training nodes", "std::ssize(p.dataset.split.train)", loss_row_count(from));
  return text + "}\n";
}

/// Takes the rank's part of the data and holds it against what the program was written for.
std::string take_function(const Source& from) {
  const RankSpec& rank = from.spec.several.ranks[static_cast<std::size_t>(from.spec.rank)];
  std::string text =
      "static void take(const data::Dataset& whole, train::RankData part, Program& p) {\n  p.whole = &whole;\n"
      "  p.dataset = std::move(part.dataset);\n  p.part = std::move(part.part);\n"
      "  p.communicator = p.part.communicator;\n";
  const std::vector<ir::NodeSet>& sets = from.program().node_sets;
  text += check("nodes of a rank", "p.part.halo.owned", from.names.node_count(0)) +
          check("edges of a rank", "p.dataset.graph.num_edges()", from.names.edge_count(0));
  for (std::size_t set = 1; set < sets.size(); ++set) {
    const std::string count = from.names.node_count(static_cast<std::int32_t>(set));
    if (sets[set].name == "with_ghosts")
      text += check("copies of others' nodes", "p.part.halo.owned + p.part.halo.ghosts", count);
    if (sets[set].name == "packed")
      text += check("rows in an exchange", "p.part.halo.sends() + p.part.halo.ghosts", count);
  }
  if (from.spec.data.sparse_features)
    text += check("stored values of the features", "p.dataset.features.nonzeros()", "kFeatureEntries");
  if (counts_rows_alone(from.program()))
    text += check("training nodes", "std::ssize(p.dataset.split.train)", loss_row_count(from));
  // Divisors of the loss stand in the plan.
  text += call("  ", "expect_share", {quote("training"), "p.part.loss_share", real(rank.loss_share)});
  if (from.program().output("val_loss") != ir::kNoValue)
    text += call("  ", "expect_share", {quote("validation"), "p.part.val_loss_share", real(rank.val_loss_share)});
  return text + "}\n";
}

std::string graph_function(const Source& from) {
  const ir::Program& program = from.program();
  std::string text = "static void make_graphs(Program& p) {\n";
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const auto index = static_cast<std::int32_t>(g);
    const ir::GraphDef& def = program.graphs[g];
    const ir::GraphUse& use = from.plan().graph_uses[g];
    if (!ir::is_made(from.plan(), g)) continue;
    const std::string object = graph_object(from, index);
    const std::string& name = from.names.graph(index);
    const std::string base = g == 0 ? "" : graph_object(from, def.base);
    switch (def.origin) {
      case ir::GraphOrigin::kGiven:
      case ir::GraphOrigin::kReversed:  // of devices that fetch: no program is written for them
        break;
      case ir::GraphOrigin::kAddRemainingSelfLoops:
        text += fmt::format("  {} = graph::add_remaining_self_loops({}, p.threads);\n", object, base);
        break;
      case ir::GraphOrigin::kReplaceSelfLoops:
        text += fmt::format("  {} = graph::replace_self_loops({}, p.threads);\n", object, base);
        break;
      case ir::GraphOrigin::kIntoLossRows:
        text += fmt::format("  {} = graph::edges_into({}, p.dataset.split.train, p.threads);\n", object, base);
        break;
      case ir::GraphOrigin::kLossRows:
        text += fmt::format("  {} = graph::selection(kNodes, p.dataset.split.train);\n", object);
        break;
    }
    if (g > 0)
      text += check(fmt::format("edges of {}", def.name), object + ".num_edges()", from.names.edge_count(index));
    if (!use.used) continue;
    text += fmt::format("  p.in_edges_{} = {}.in_edges();\n", name, object);
    if (use.transpose) {
      text += fmt::format("  p.transposed_{0} = graph::transpose(p.in_edges_{0}, {1}, p.threads);\n", name, use.slots);
      text += fmt::format("  p.out_edges_{0} = p.transposed_{0}.pattern();\n", name);
    }
    if (use.in_tile > 0)
      text +=
          fmt::format("  p.in_tiles_{0} = graph::tile_sources(p.in_edges_{0}, {1}, p.threads);\n", name, use.in_tile);
    if (use.out_tile > 0)
      text += fmt::format("  p.out_tiles_{0} = graph::tile_sources(p.out_edges_{0}, {1}, p.threads);\n", name,
                          use.out_tile);
  }
  if (from.spec.data.sparse_features) {
    text += "  p.feature_rows = p.dataset.features.pattern();\n";
    if (from.plan().feature_transpose) {
      text += fmt::format("  p.feature_transpose = graph::transpose(p.feature_rows, {}, p.threads);\n",
                          from.plan().feature_slots ? "true" : "p.dataset.features.values");
      text += "  p.feature_columns = p.feature_transpose.pattern();\n";
    }
  }
  if (counts_rows_alone(program)) {
    text += "  p.loss_labels = data::labels_of(p.dataset.labels, p.dataset.split.train);\n";
    text +=
        "  p.loss_rows.resize(p.dataset.split.train.size());\n  std::iota(p.loss_rows.begin(), p.loss_rows.end(), "
        "NodeId{0});\n";
  }
  if (program.output("val_loss") != ir::kNoValue) {
    text += "  p.val_rows = epochs::labelled_split(p.dataset).val;\n";
    if (has_targets(program))
      text += "  p.val_labelled = labelled_entries(p.threads, targets(p.dataset.labels), p.val_rows);\n";
  }
  if (has_targets(program)) {
    text += counts_rows_alone(program)
                ? "  p.labelled = labelled_entries(p.threads, targets(p.loss_labels), p.loss_rows);\n"
                : "  p.labelled = labelled_entries(p.threads, targets(p.dataset.labels), p.dataset.split.train);\n";
  }
  for (std::size_t b = 0; b < from.plan().bands.size(); ++b) {
    const ir::RowBand& band = from.plan().bands[b];
    const std::optional<ir::EdgeWalk> walk = ir::edge_walk(from.plan(), band);
    const std::string edges =
        walk ? fmt::format("p.{}_edges_{}.offsets", walk->out_edges ? "out" : "in", from.names.graph(walk->graph))
             : "{}";
    const ir::Op& first =
        program.ops[static_cast<std::size_t>(from.plan().steps[static_cast<std::size_t>(band.first_step)].op)];
    const ir::Type& rows = program.type(ir::row_value(first));
    const ir::RowOrder order = from.row_order(band);
    if (order == ir::RowOrder::kAny) {
      text += fmt::format("  p.cuts_{} = cut_rows({}, {}, {});\n", b, edges, from.names.rows(rows), band.tasks);
      continue;
    }
    const bool edges_alone = rows.domain == ir::Domain::kEdge;
    const std::int32_t set = edges_alone ? program.graphs[static_cast<std::size_t>(rows.set)].dst_set : rows.set;
    std::string divide = set == 0 ? "p.part.halo.interior" : "p.part.halo.interior_loss_rows";
    if (order == ir::RowOrder::kGhostsFirst) divide = "p.part.halo.owned";
    if (order == ir::RowOrder::kInteriorFirst && edges_alone) {
      text += fmt::format("  const std::int64_t divide_{} = p.in_edges_{}.offsets[{}];\n", b,
                          from.names.graph(rows.set), divide);
      divide = fmt::format("divide_{}", b);
    }
    text += fmt::format("  const std::span<const EdgeId> offsets_{} = {};\n", b, edges);
    text += fmt::format("  p.first_tasks_{0} = cut_rows_at({1}, offsets_{0}, {2}, {3}, &p.cuts_{0});\n", b, divide,
                        from.names.rows(rows), band.tasks);
  }
  for (std::size_t i = 0; i < from.plan().loops.size(); ++i) {
    const ir::EdgeLoop& loop = from.plan().loops[i];
    const ir::GraphDef& graph = program.graphs[static_cast<std::size_t>(loop.graph)];
    text += fmt::format("  p.loop_cuts_{} = cut_rows(p.{}_edges_{}.offsets, {}, {});\n", i,
                        loop.out_edges ? "out" : "in", from.names.graph(loop.graph),
                        from.names.node_count(loop.out_edges ? graph.src_set : graph.dst_set), loop.tasks);
  }
  return text + "}\n";
}

std::string memory_function(const Source& from) {
  const ir::Plan& plan = from.plan();
  std::string text =
      "// Values whose lifetimes do not overlap share the arena; numbers are offsets in bytes.\nstatic void "
      "lay_out_memory(Program& p) {\n";
  if (plan.band_bytes > 0) {
    text = fmt::format(
               "// Values that no loop over bands leaves behind exist a band of rows at a time, in this many bytes for "
               "each "
               R"(thread.
constexpr std::int64_t kBandBytes = {};

static Matrix in_band(Buffer<std::byte>& bands, std::int64_t offset, std::int64_t rows, std::int64_t cols) {{
  Matrix m(at<float>(bands, offset), rows, cols);
  m.thread_stride = kBandBytes / static_cast<std::int64_t>(sizeof(float));
  return m;
}}

)",
               plan.band_bytes) +
           text;
  }
  const auto zeros = [&](const char* name, std::int64_t bytes) {
    text += fmt::format("  p.{} = Buffer<float>::zeros({});\n", name, bytes / 4);
  };
  zeros("parameters", plan.parameter_bytes);
  zeros("gradients", plan.parameter_bytes);
  zeros("states", plan.state_bytes);
  const OptimizerSpec& optimizer = from.spec.optimizer;
  if (optimizer.name != "sgd" || optimizer.momentum != 0) zeros("moments", plan.parameter_bytes);
  if (optimizer.name != "sgd") zeros("squares", plan.parameter_bytes);
  text += fmt::format("  p.constants = Buffer<std::byte>({});\n  p.arena = Buffer<std::byte>({});\n",
                      plan.constant_bytes + plan.file_bytes, plan.arena_bytes);
  if (plan.band_bytes > 0) text += "  p.bands = Buffer<std::byte>(static_cast<std::size_t>(kBandBytes * p.threads));\n";
  text += fmt::format("  p.scratch = p.arena.span().first({});\n  p.context = {{p.threads, p.scratch}};\n",
                      plan.workspace_bytes);
  for (const ir::ValueId v : named_values(from)) text += place_value(from, v);
  return text + "}\n";
}

}  // namespace

std::string loss_row_count(const Source& from) {
  for (const ir::Op& op : from.program().ops) {
    if (ir::is_training_loss(op)) return from.names.rows(from.program().type(op.inputs[0]));
  }
  return {};
}

std::vector<Field> init_fields(const ir::Init& init) {
  static constexpr std::string_view kKinds[] = {"kZeros",  "kOnes", "kConstant", "kUniform",
                                                "kGlorot", "kHe",   "kNormal"};
  std::vector<Field> fields = {
      {"kind", fmt::format("ir::Init::Kind::{}", kKinds[static_cast<std::size_t>(init.kind)])}};
  if (init.value != 0) fields.push_back({"value", real(init.value)});
  const bool by_fans = init.kind == ir::Init::Kind::kGlorot || init.kind == ir::Init::Kind::kHe;
  if (by_fans) fields.push_back({"fan_in", fmt::format("{}", init.fan_in)});
  if (by_fans) fields.push_back({"fan_out", fmt::format("{}", init.fan_out)});
  return fields;
}

std::string check(const std::string& what, const std::string& found, const std::string& expected) {
  return call("  ", "expect", {quote(what), found, expected});
}

std::string expect_function() {
  return R"(/// Errors: kBadData if the data are not of the sizes that this program was written for.
static void expect(const char* what, std::int64_t found, std::int64_t expected) {
  if (found == expected) return;
  const std::string message = std::string(what) + ": this program was written for " + std::to_string(expected);
  throw Error(ErrorCode::kBadData, message + ", the data have " + std::to_string(found), "the data set",
              "write a program for these data with gneiss synth");
}
)";
}

std::string load_lines(const Source& from, const std::string& whole) {
  const DataSpec& data = from.spec.data;
  const std::string threads = from.is_rank() ? "threads" : "p.threads";
  std::string text = fmt::format(
      "  data::LoadOptions options;\n  options.split = settings.split;\n  options.seed = settings.data_seed;\n"
      "  options.threads = {};\n{}  {} = data::load(settings.data, options);\n",
      threads, load_options(data.load), whole);
  if (data.node_order != "none") {
    const std::string order = data.node_order == "clusters" ? fmt::format("cluster_order({}.graph, {})", whole, threads)
                                                            : fmt::format("{}_order({}.graph)", data.node_order, whole);
    text += fmt::format("  data::permute(graph::{}, {}, &{});\n", order, threads, whole);
  }
  const auto count = [](std::int64_t number) { return fmt::format("{}", number); };
  text +=
      check("nodes", whole + ".num_nodes()", from.is_rank() ? count(data.num_nodes) : "kNodes") +
      check("edges", whole + ".graph.num_edges()", from.is_rank() ? count(data.num_edges) : from.names.edge_count(0)) +
      check("features", whole + ".features.cols", from.is_rank() ? count(data.num_features) : "kFeatures") +
      check("classes", whole + ".labels.num_classes", from.is_rank() ? count(data.num_classes) : "kClasses") +
      check("sparse features (1: yes)", whole + ".features.sparse ? 1 : 0", data.sparse_features ? "1" : "0");
  if (data.sparse_features && !from.is_rank())
    text += check("stored values of the features", whole + ".features.nonzeros()", "kFeatureEntries");
  text += check("weights of edges (1: yes)", whole + ".graph.weighted() ? 1 : 0", data.weighted ? "1" : "0");
  if (data.symmetric) text += check("symmetry (1: yes)", whole + ".graph.symmetric() ? 1 : 0", "1");
  const bool classes = data.label_kind == data::LabelKind::kSingle;
  return text + check("one class a node (1: yes)", whole + ".labels.classes.empty() ? 0 : 1", classes ? "1" : "0");
}

std::string data_source(const Source& from) {
  std::string body = expect_function();
  if (from.is_rank()) {
    body += R"(
/// Errors: kBadData if the rank's part of what the mean loss divides by is another.
static void expect_share(const char* nodes, double found, double expected) {
  if (found == expected) return;
  throw Error(ErrorCode::kBadData, std::string("other labelled ") + nodes + " nodes than this program was written for",
              "the data set", "write a program for these data with gneiss synth");
}
)";
  }
  body += R"(
/// What lies `offset` bytes into a buffer.
template <class T, class Element>
T* at(Buffer<Element>& buffer, std::int64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(buffer.data()) + offset);
}

)";
  body += (from.is_rank() ? take_function(from) : load_function(from)) + "\n" + graph_function(from) + "\n" +
          memory_function(from);
  body += from.is_rank() ? R"(
void lay_out(const data::Dataset& whole, train::RankData part, Program& p) {
  take(whole, std::move(part), p);
  make_graphs(p);
  lay_out_memory(p);
}
)"
                         : R"(
void load_and_lay_out(const Settings& settings, Program& p) {
  p.threads = settings.threads > 0 ? settings.threads : available_threads();
  p.seed = settings.seed;
  load(settings, p);
  make_graphs(p);
  lay_out_memory(p);
}
)";
  std::vector<std::string> headers = {"<algorithm>", "<numeric>"};
  if (from.is_rank()) headers.insert(headers.end(), {"<utility>", ""});
  if (!from.is_rank()) headers.insert(headers.end(), {"", quote("data/load.h")});
  const bool reorders = from.spec.data.node_order != "none" && !from.is_rank();
  if (reorders) headers.push_back(quote("data/preprocess.h"));
  if (from.program().output("val_loss") != ir::kNoValue) headers.push_back(quote("epochs/metrics.h"));
  headers.push_back(quote("gneiss/error.h"));
  if (reorders) headers.push_back(quote("graph/reorder.h"));
  if (has_targets(from.program())) headers.push_back(quote("kernels/labelled_entries.h"));
  headers.push_back(quote("program.h"));
  return source_file(from, "Data, graphs and memory.", includes(headers), body);
}

std::string parameters_source(const Source& from) {
  // On a device they are a copy, part of a Snapshot.
  const auto place_in_copy = [&](const ir::Param& param) {
    const ir::Placement& place = from.place(param.value);
    return std::pair(place.storage == Storage::kState ? "states" : "parameters", place.offset_bytes / 4);
  };
  const auto elements = [&](const ir::Param& param) {
    if (!from.on_device()) return fmt::format("elements(p.{})", from.names.value(param.value));
    const auto [buffer, begin] = place_in_copy(param);
    return fmt::format("first.{}.span().subspan({}, {})", buffer, begin, param.rows * param.cols);
  };
  const auto matrix = [&](const ir::Param& param) {
    if (!from.on_device()) return "p." + from.names.value(param.value);
    const auto [buffer, begin] = place_in_copy(param);
    return fmt::format("{{weights.{}.data() + {}, {}, {}}}", buffer, begin, param.rows, param.cols);
  };
  std::string body =
      "// Draws depend on the seed and the parameter's name alone.\nvoid initialize_parameters(Program& p) {\n";
  if (from.on_device()) body += "  Snapshot first(p);\n";
  for (const ir::Param& param : from.program().params) {
    const std::string value = from.names.value(param.value);
    const std::string line = fmt::format("  runtime::initialize<float>({}, {}, p.seed, {});", quote(param.name),
                                         braced(init_fields(param.init)), elements(param));
    if (fits(line)) {
      body += line + "\n";
    } else {
      body += definition("  ", "ir::Init", "init_" + value, init_fields(param.init));
      body += call("  ", "runtime::initialize<float>", {quote(param.name), "init_" + value, "p.seed", elements(param)});
    }
  }
  if (from.on_device()) body += "  first.put_back(p);\n";
  body += R"(}

// Under the keys and in the shapes of PyTorch Geometric.
void save_parameters(const Program& p, const std::string& path, std::int64_t epochs) {
  runs::ParameterFile file(epochs);
)";
  if (from.on_device()) body += "  Snapshot weights(p);\n  weights.keep(p);\n";
  for (const ir::Param& param : from.program().params) {
    std::vector<std::int64_t> shape = param.stored_shape;
    if (shape.empty()) shape = {param.rows, param.cols};
    body += call("  ", "file.add",
                 {quote(param.name), fmt::format("{{{}}}", fmt::join(shape, ", ")), matrix(param),
                  param.stored_transposed ? "true" : "false"});
  }
  body += "  file.write(path);\n}\n";
  return source_file(from, "First values of the parameters, and the file that they are saved in.",
                     includes({quote("program.h"), quote("runs/parameter_file.h"), quote("runtime/initialize.h")}),
                     body);
}

}  // namespace gneiss::synth::openmp
