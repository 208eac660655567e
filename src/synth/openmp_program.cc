// The openmp target: program.h, what all files of a program share.
#include <fmt/format.h>

#include "synth/calls.h"
#include "synth/loops.h"
#include "synth/openmp.h"
#include "synth/text.h"

namespace gneiss::synth::openmp {
namespace {

using ir::Storage;

/// What of the nodes a set is.
std::string note_of(const Source& from, std::size_t set) {
  const std::string& name = from.program().node_sets[set].name;
  if (name == "with_ghosts") return "with the copies of others' nodes";
  if (name == "packed") return "sent to other ranks and received, in an exchange";
  if (set == 0) return from.is_rank() ? "of this rank" : "of the graph";
  return "nodes of the split that train";
}

}  // namespace

std::string sizes(const Source& from) {
  std::vector<Declaration> list;
  const auto add = [&](const std::string& name, std::int64_t value, const std::string& note) {
    list.push_back({fmt::format("inline constexpr std::int64_t {} = {};", name, value), note});
  };
  const ir::Program& program = from.program();
  for (std::size_t set = 0; set < program.node_sets.size(); ++set) {
    add(from.names.node_count(static_cast<std::int32_t>(set)), program.node_sets[set].size, note_of(from, set));
  }
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    if (ir::is_made(from.plan(), g) || g == 0)
      add(from.names.edge_count(static_cast<std::int32_t>(g)), program.graphs[g].num_edges, program.graphs[g].name);
  }
  add("kFeatures", from.spec.data.num_features, "columns of the features");
  if (from.spec.data.sparse_features)
    add("kFeatureEntries", from.plan().feature_nonzeros, "stored values of the features");
  add("kClasses", from.spec.data.num_classes, "classes, tasks or outputs");
  return declarations("", list);
}

namespace {

std::string graph_members(const Source& from) {
  std::vector<Declaration> list;
  const ir::Program& program = from.program();
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const ir::GraphUse& use = from.plan().graph_uses[g];
    const std::string& name = from.names.graph(static_cast<std::int32_t>(g));
    if (ir::is_made(from.plan(), g) && g > 0)
      list.push_back({fmt::format("graph::Graph graph_{};", name), program.graphs[g].name});
    if (!use.used) continue;
    list.push_back(
        {fmt::format("SparsePattern in_edges_{};", name), "a row for each destination, its sources ascending"});
    if (use.transpose) {
      list.push_back({fmt::format("graph::Transpose transposed_{};", name), "the same edges by source"});
      list.push_back(
          {fmt::format("SparsePattern out_edges_{};", name), "a row for each source, its destinations ascending"});
    }
    if (use.in_tile > 0)
      list.push_back(
          {fmt::format("graph::SourceTiles in_tiles_{};", name), fmt::format("in tiles of {} sources", use.in_tile)});
    if (use.out_tile > 0)
      list.push_back(
          {fmt::format("graph::SourceTiles out_tiles_{};", name), fmt::format("in tiles of {} columns", use.out_tile)});
  }
  for (std::size_t i = 0; i < from.plan().loss_tiles.size(); ++i) {
    const ir::LossTiles& part = from.plan().loss_tiles[i];
    list.push_back({fmt::format("graph::SourceTiles loss_tiles_{};", i),
                    fmt::format("of {}_tiles_{}, {} rows of the loss alone", part.out_edges ? "out" : "in",
                                from.names.graph(part.graph), part.sources ? "from" : "of")});
  }
  if (from.spec.data.sparse_features) {
    list.push_back({"SparsePattern feature_rows;", "where the stored values of the features stand"});
    if (from.plan().feature_transpose) {
      list.push_back({"graph::Transpose feature_transpose;", "the same by columns"});
      list.push_back({"SparsePattern feature_columns;", "a row for each feature"});
    }
  }
  if (counts_rows_alone(program)) {
    list.push_back({"data::Labels loss_labels;", "of the training nodes"});
    list.push_back({"std::vector<NodeId> loss_rows;", "all of them"});
  }
  if (program.output("val_loss") != ir::kNoValue)
    list.push_back({"std::vector<NodeId> val_rows;", "labelled validation nodes"});
  if (has_targets(program)) {
    list.push_back({"std::int64_t labelled = 0;", "entries of the targets that the loss is a mean of"});
    list.push_back({"std::int64_t val_labelled = 0;", "the same of the validation nodes"});
  }
  for (std::size_t b = 0; b < from.plan().bands.size(); ++b) {
    list.push_back({fmt::format("std::vector<std::int64_t> cuts_{};", b),
                    fmt::format("rows at which the {} tasks of a loop over bands start", from.plan().bands[b].tasks)});
    if (from.row_order(from.plan().bands[b]) != ir::RowOrder::kAny)
      list.push_back({fmt::format("std::int64_t first_tasks_{} = 0;", b), "tasks before the row that divides them"});
  }
  for (std::size_t i = 0; i < from.plan().loops.size(); ++i) {
    list.push_back({fmt::format("std::vector<std::int64_t> loop_cuts_{};", i),
                    fmt::format("the same of {}", loop_name(from.plan(), from.names, i))});
  }
  return declarations("  ", list);
}

std::string_view storage_note(Storage storage, bool on_device) {
  switch (storage) {
    case Storage::kNone:
      return "nobody reads it";
    case Storage::kInput:
      return "of the data set";
    case Storage::kParameter:
      return "parameter";
    case Storage::kGradient:
      return "gradient";
    case Storage::kState:
      return "state";
    case Storage::kConstant:
    case Storage::kFile:
      return "kept from the setup on";
    case Storage::kArena:
      return "in the arena";
    case Storage::kBand:
      return on_device ? "in registers alone" : "a band of rows for each thread";
    case Storage::kLoop:
      return "a row of the edge at hand";
  }
  return "";
}

/// Of a rank: what was started of each exchange.
std::string exchange_members(const Source& from) {
  std::string text;
  for (const ir::Op& op : from.program().ops) {
    const bool starts = op.kind == ir::OpKind::halo_start || op.kind == ir::OpKind::halo_add_start;
    if (starts) text += fmt::format("  ExchangeUnderWay {}_exchange;\n", from.names.value(op.results.back()));
  }
  return text;
}

/// The state of the optimizer.
std::string moments(const Source& from) {
  const OptimizerSpec& optimizer = from.spec.optimizer;
  std::string text;
  if (optimizer.name != "sgd" || optimizer.momentum != 0) text += "  Buffer<float> moments;\n";
  if (optimizer.name != "sgd") text += "  Buffer<float> squares;\n";
  return text;
}

std::string header_includes(const Source& from) {
  const bool loops = !from.plan().loops.empty();
  std::vector<std::string> headers;
  for (const char* header : {"<cstddef>", "<cstdint>", "<iterator>", "<span>", "<string>", "<vector>", ""})
    headers.emplace_back(header);
  for (const char* header : {"base/buffer.h", "data/dataset.h", "graph/graph.h", "graph/source_tiles.h",
                             "kernels/bands.h", "kernels/cpu/cpu.h"})
    headers.push_back(quote(header));
  if (loops) headers.insert(headers.end(), {quote("kernels/dropout_key.h"), quote("kernels/edge_loop.h")});
  if (from.is_rank()) {
    headers.insert(headers.end(), {quote("kernels/halo.h"), quote("kernels/onednn/onednn.h"),
                                   quote("kernels/reference/reference.h"), quote("train/rank_data.h")});
    headers.insert(headers.begin() + 7, {quote("../shared.h")});
  } else {
    headers.insert(headers.end(), {quote("kernels/onednn/onednn.h"), quote("kernels/reference/reference.h")});
  }
  return includes(headers);
}

/// What forward, backward and the rest call loops over edges by.
std::string loop_declarations(const Source& from) {
  std::string text = "\n// Loops over edges (loops.cc).\n";
  for (std::size_t i = 0; i < from.plan().loops.size(); ++i) {
    text += call("", fmt::format("extern \"C\" void {}", loop_name(from.plan(), from.names, i)),
                 {"const EdgeLoopArgs& args", "std::int64_t begin", "std::int64_t end", "float* totals"});
  }
  return text + R"(
/// Where matrices begin.
struct Pointers {
  template <class... Views>
  explicit Pointers(const Views&... views) : data{views.data...} {}
  std::vector<void*> data;
};

struct Matrices {
  template <class... Views>
  explicit Matrices(const Views&... views) : list{views...} {}
  std::vector<Matrix> list;
};

/// Runs a loop along `edges`; `totals` are what it sums over all of them.
inline void run_loop(Program& p, EdgeLoopFunction loop, const SparsePattern& edges, const SparsePattern& in_edges,
                     std::span<const float> weights, const Pointers& reads, const Pointers& writes,
                     const Matrices& totals, std::span<const std::int64_t> cuts) {
  EdgeLoopArgs args = edge_loop_args(edges, in_edges, weights, p.dataset.orig_id);
  args.reads = reads.data.data();
  args.writes = writes.data.data();
  args.key = dropout_key(p.seed, p.epoch);
  run_edge_loop(p.context, loop, args, cuts, totals.list);
}
)";
}

}  // namespace

std::vector<ir::ValueId> named_values(const Source& from) {
  std::vector<ir::ValueId> values;
  for (const ir::Op& op : from.program().ops) {
    for (const ir::ValueId v : op.results) {
      const bool stored = v != ir::kNoValue && from.place(v).storage != Storage::kLoop;
      if (stored) values.push_back(v);
    }
  }
  return values;
}

std::string value_members(const Source& from) {
  std::vector<Declaration> list;
  for (const ir::ValueId v : named_values(from)) {
    const ir::Type& type = from.program().type(v);
    const char* kind = ir::is_half(type.scalar) ? "Halves" : type.scalar == ir::Scalar::kIndex ? "Indices" : "Matrix";
    const bool sparse = type.layout == ir::Layout::kSparse;
    const std::string shape =
        sparse ? "[kFeatureEntries, 1]" : fmt::format("[{}, {}]", from.names.rows(type), type.cols);
    list.push_back({fmt::format("{} {};", kind, from.names.value(v)),
                    fmt::format("{}, {}", shape, storage_note(from.place(v).storage, from.on_device()))});
  }
  return declarations("  ", list);
}

std::string scores_struct() {
  return R"(/// Scores of the three parts of the nodes, and the loss of the validation nodes.
struct Scores {
  double train = 0;
  double val = 0;
  double test = 0;
  double val_loss = 0;
  bool validated = false;  ///< there are validation nodes
};

)";
}

std::string class_weights(const Source& from) {
  if (from.spec.class_weights.empty()) return {};
  std::string text = "\n// Of each class in the loss.\ninline constexpr float kClassWeights[] = {\n";
  for (const float weight : from.spec.class_weights) text += fmt::format("    {},\n", real(weight));
  return text + "};\n";
}

std::string settings_struct(const Source& from) {
  const Specification& spec = from.spec;
  return fmt::format(R"(
/// What the command line sets.
struct Settings {{
  std::string data = {};
  std::string split = {};
  std::uint64_t data_seed = {};
  std::int64_t epochs = {};
  std::uint64_t seed = {};
  int threads = 0;
{}  std::string out;
  std::string save;
}};

)",
                     quote(spec.data.name), quote(spec.data.load.split), spec.data.load.seed, spec.epochs.epochs,
                     spec.epochs.seed, from.on_device() ? "  std::string device = \"cuda\";\n" : "");
}

namespace {

/// What a program.h begins with.
std::string head(const Source& from) {
  const Specification& spec = from.spec;
  if (from.is_rank()) {
    return comment("", fmt::format("Rank {} of {} of {} on {}.", spec.rank, spec.several.ranks.size(), spec.model,
                                   spec.data.title)) +
           "#pragma once\n\n" + header_includes(from) +
           fmt::format("\nnamespace program::{} {{\n\n// The part that this rank is for.\n", rank_name(spec.rank)) +
           sizes(from) + "\n";
  }
  std::string text =
      comment("", fmt::format("{} on {}: a training program, written by gneiss {} (gneiss synth --target openmp).",
                              spec.model, spec.data.title, spec.version));
  text += R"(//
//   data.cc        reads the data, makes the graphs, lays out memory
//   parameters.cc  first values of the parameters, and how they are saved
//   setup.cc       what is computed once
//   forward.cc     the loss of the training nodes
//   backward.cc    the gradients
//   update.cc      a step of the optimizer
//   inference.cc   logits without dropout
//   scores.cc      scores and loss of the three parts of the nodes
//   main.cc        options, and the loop over epochs
//
// Comments of the form `FILE:LINE` show the line of the model that the code below comes from.
#pragma once

)";
  text += header_includes(from);
  text += R"(
namespace program {

using namespace gneiss;
using namespace gneiss::kernels;
using Matrix = MatrixView<float>;
using Indices = MatrixView<std::int32_t>;

// The data that this program is for: others of these sizes will do.
)";
  return text + sizes(from) + class_weights(from) + settings_struct(from);
}

}  // namespace

std::string program_header(const Source& from) {
  std::string text = head(from);
  text +=
      "/// Everything that the phases work on. Matrices are views of the buffers, laid out in data.cc.\nstruct Program "
      "{\n";
  if (from.is_rank()) {
    text += declarations("  ", {{"comm::Communicator* communicator = nullptr;", ""},
                                {"train::RankPart part;", "what this rank knows of the others"},
                                {"const data::Dataset* whole = nullptr;", "labels and splits of all nodes"}});
  }
  text += R"(  data::Dataset dataset;
  int threads = 1;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::int64_t step = 0;
  Context context;

)";
  text += graph_members(from);
  text += "\n  Buffer<float> parameters;\n  Buffer<float> gradients;\n  Buffer<float> states;\n" + moments(from);
  text += "  Buffer<std::byte> constants;\n  Buffer<std::byte> arena;\n";
  if (from.plan().band_bytes > 0) text += "  Buffer<std::byte> bands;\n";
  text += "  std::span<std::byte> scratch;  // of kernels: the start of the arena\n\n";
  text += value_members(from);
  if (from.is_rank()) {
    text += "\n" + exchange_members(from);
    text += declarations("  ", {{"comm::OpenSums sums;", "of gradients over the ranks"},
                                {"double loss_of_all = 0;", "likewise of the loss"},
                                {"Buffer<float> all_logits;", "of all nodes, on rank 0"}});
  }
  text += R"(
  std::span<std::byte> scratch_part(std::size_t begin, std::size_t size) { return scratch.subspan(begin, size); }
};

)" + scores_struct();
  text += from.is_rank() ? "void lay_out(const data::Dataset& whole, train::RankData part, Program& p);\n"
                         : "void load_and_lay_out(const Settings& settings, Program& p);\n";
  text += R"(void initialize_parameters(Program& p);
void save_parameters(const Program& p, const std::string& path, std::int64_t epochs);
void setup(Program& p);
float forward(Program& p, std::uint64_t epoch);
void backward(Program& p);
void update(Program& p, double lr);
void infer(Program& p);
Scores evaluate(Program& p);

inline std::span<float> elements(const Matrix& m) { return {m.data, static_cast<std::size_t>(m.size())}; }

/// In-degrees or out-degrees: the lengths of the rows of a pattern.
inline void count_edges(const SparsePattern& pattern, const Matrix& degree) {
  for (std::int64_t v = 0; v < degree.rows; ++v) {
    const auto row = static_cast<std::size_t>(v);
    degree.at(v, 0) = static_cast<float>(pattern.offsets[row + 1] - pattern.offsets[row]);
  }
}
)";
  if (!from.plan().loops.empty()) text += loop_declarations(from);
  text += R"(
/// Labels of nodes with many values each.
inline ConstMatrixView<float> targets(const data::Labels& labels) {
  const std::int64_t rows = std::ssize(labels.targets.span()) / labels.num_classes;
  return {labels.targets.data(), rows, labels.num_classes};
}

)";
  return text + (from.is_rank() ? fmt::format("}}  // namespace program::{}\n", rank_name(from.spec.rank))
                                : "}  // namespace program\n");
}

}  // namespace gneiss::synth::openmp
