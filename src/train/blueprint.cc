// The model's text becomes a program for the sizes of the data set, its schedule and the run's options become those of
// the passes, and what these choose by is counted, of several ranks over all of them.
#include "train/blueprint.h"

#include <span>

#include "base/error.h"
#include "base/file_pages.h"
#include "base/parallel.h"
#include "data/given.h"
#include "epochs/metrics.h"
#include "graph/reorder.h"
#include "language/diagnostics.h"
#include "runtime/device_layout.h"
#include "train/dataset_inputs.h"
#include "train/planned_bytes.h"

namespace gneiss::train {
namespace {

void check_compiled(const language::CompileResult& result, const std::string& model) {
  if (result.ok()) return;
  std::string text;
  for (const language::Diagnostic& diagnostic : result.diagnostics) text += "\n" + language::render(diagnostic);
  throw Error(ErrorCode::kUsage, fmt::format("the model '{}' does not compile{}", model, text));
}

void apply_order(const language::ScheduleEntry& entry, passes::Options* passes) {
  passes::OrderChoice order = passes::OrderChoice::kAuto;
  if (entry.value == "transform_first") order = passes::OrderChoice::kTransformFirst;
  if (entry.value == "aggregate_first") order = passes::OrderChoice::kAggregateFirst;
  if (entry.layer == 0) {
    passes->order = order;
  } else {
    passes->layer_orders[static_cast<std::int32_t>(entry.layer) - 1] = order;
  }
}

/// What the program's own schedule asks for; a choice made for the run stands above it, and passes that the run
/// switches off are off besides. The order of the nodes is chosen before there is a session.
void apply_schedule(const std::vector<language::ScheduleEntry>& schedule, passes::Options* passes) {
  const bool order_is_open = passes->order == passes::OrderChoice::kAuto;
  const bool path_is_open = passes->sparse_path == passes::SparsePath::kAuto;
  const bool tiles_are_open = passes->source_tiles == planner::SourceTiling::kAuto;
  for (const language::ScheduleEntry& entry : schedule) {
    if (entry.key == "order" && order_is_open) apply_order(entry, passes);
    if (entry.value == "auto") continue;
    if (entry.key == "sparse" && path_is_open) {
      passes->sparse_path = entry.value == "sparse" ? passes::SparsePath::kSparse : passes::SparsePath::kDense;
    }
    if (entry.key == "tiles" && tiles_are_open) {
      passes->source_tiles = entry.value == "on" ? planner::SourceTiling::kOn : planner::SourceTiling::kOff;
    }
    if (entry.key == "hoist") passes->disabled.insert("hoist_constants");
    if (entry.key == "fuse")
      passes->disabled.insert(
          {"fuse_messages", "fuse_attention", "fuse_elementwise", "fuse_edges", "fuse_rows", "split_bands"});
  }
}

std::int64_t num_edges_into(const graph::Graph& graph, std::span<const NodeId> rows) {
  std::int64_t edges = 0;
  for (const NodeId v : rows)
    edges += graph.offsets()[static_cast<std::size_t>(v) + 1] - graph.offsets()[static_cast<std::size_t>(v)];
  return edges;
}

/// Edges of the graphs of the program turned round. Each but the given one has one loop a node.
std::vector<std::int64_t> reversed_edges(const ir::Program& program, const graph::Graph& reversed) {
  const std::int64_t with_loops = reversed.num_edges() - graph::num_self_loops(reversed) + reversed.num_dst();
  std::vector<std::int64_t> edges(program.graphs.size(), with_loops);
  edges[0] = reversed.num_edges();
  return edges;
}

/// Gives the program and the rows of the loss the sizes of the whole graph, by which all ranks choose alike, and keeps
/// those of the part.
passes::Distribution distribution_of(const RankPart& part, ir::Program* program, passes::LossRows* rows) {
  passes::Distribution made;
  made.ranks = part.communicator->ranks();
  made.owned = part.halo.owned;
  made.ghosts = part.halo.ghosts;
  made.sends = part.halo.sends();
  made.exchange = part.exchange;
  made.loss_share = part.loss_share;
  made.val_loss_share = part.val_loss_share;
  made.feature_nonzeros = part.feature_nonzeros;
  made.ids_fit = part.ids_fit;
  for (const ir::GraphDef& graph : program->graphs) made.edges.push_back(graph.num_edges);
  if (part.reversed != nullptr) made.reversed_edges = reversed_edges(*program, *part.reversed);
  std::vector<double> numbers = numbers_to_choose_by(*program, *rows);
  part.communicator->sum(std::span<double>(numbers));
  passes::LossRowsOfAll all{part.nodes(), static_cast<std::int64_t>(numbers[0]), {}, {}};
  const std::size_t graphs = program->graphs.size();
  for (std::size_t g = 0; g < graphs; ++g) {
    all.graphs.push_back(static_cast<std::int64_t>(numbers[1 + g]));
    all.edges.push_back(static_cast<std::int64_t>(numbers[1 + graphs + g]));
    program->graphs[g].num_edges = all.graphs[g];
    program->graphs[g].weighted = part.weighted;
    program->graphs[g].symmetric = part.symmetric;
  }
  rows->of_all = std::move(all);
  program->node_sets[0].size = part.nodes();
  return made;
}

/// `dataset` and `options` must outlive `passes`.
void keep_within_device(const data::Dataset& dataset, const SessionOptions& options, passes::Options* passes) {
  passes->limit_is_of_device = true;
  passes->limit_name = "the device's memory";
  passes->excess_bytes = [&](const ir::Plan& plan) {
    const DatasetInputs inputs(dataset, plan, options.class_weights);
    return runtime::device_layout(plan, inputs.inputs(), options.optimizer).bytes - options.device_bytes;
  };
}

}  // namespace

language::ProgramInputs program_inputs(const data::Dataset& dataset) {
  return {dataset.num_nodes(),   dataset.graph.num_edges(), dataset.graph.weighted(),  dataset.graph.symmetric(),
          dataset.features.cols, dataset.features.sparse,   dataset.labels.num_classes};
}

std::shared_ptr<const language::CompileResult> compile_for(const data::Dataset& dataset, const SessionOptions& options,
                                                           const RankPart* part) {
  language::CompileOptions compile;
  compile.inputs = program_inputs(dataset);
  if (part != nullptr) {
    compile.inputs.num_nodes = part->nodes();
    compile.inputs.num_edges = part->edges;
    compile.inputs.weighted = part->weighted;
    compile.inputs.symmetric = part->symmetric;
  }
  compile.args = options.model_args;
  return std::make_shared<const language::CompileResult>(
      language::compile(language::load_model(options.model), compile));
}

void check_dataset(const data::Dataset& dataset) {
  GNEISS_CHECK(!dataset.features.empty(), ErrorCode::kBadData,
               "dataset '{}' has no node features; give some with --features FILE", dataset.name);
  GNEISS_CHECK(dataset.labels.kind != data::LabelKind::kNone, ErrorCode::kBadData,
               "dataset '{}' has no labels; give some with --labels FILE", dataset.name);
  GNEISS_CHECK(!dataset.split.train.empty(), ErrorCode::kBadData,
               "dataset '{}' has no training nodes; choose a split with --split", dataset.name);
}

passes::LossSpec::Kind default_loss(const data::Labels& labels) {
  switch (labels.kind) {
    case data::LabelKind::kMulti:
      return passes::LossSpec::Kind::kBceWithLogits;
    case data::LabelKind::kRegression:
      return passes::LossSpec::Kind::kMse;
    default:
      return passes::LossSpec::Kind::kCrossEntropy;
  }
}

int threads_of(const SessionOptions& options) { return options.threads > 0 ? options.threads : available_threads(); }

passes::LossRows loss_rows_of(const data::Dataset& dataset, const runtime::DerivedGraphs& graphs) {
  passes::LossRows made;
  made.count = std::ssize(dataset.split.train);
  made.label_bytes = label_bytes(dataset.labels);
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const bool by_itself = g > 0 && graphs[g];
    const std::int64_t loops = g > 0 && !by_itself ? made.count : 0;  // one at each node besides the given edges
    made.edges.push_back(num_edges_into(by_itself ? *graphs[g] : dataset.graph, dataset.split.train) + loops);
  }
  return made;
}

std::vector<double> numbers_to_choose_by(const ir::Program& program, const passes::LossRows& rows) {
  std::vector<double> numbers = {static_cast<double>(rows.count)};
  for (const ir::GraphDef& graph : program.graphs) numbers.push_back(static_cast<double>(graph.num_edges));
  numbers.insert(numbers.end(), rows.edges.begin(), rows.edges.end());
  return numbers;
}

Blueprint make_blueprint(const data::Dataset& dataset, const SessionOptions& options, std::int64_t value_bytes,
                         const RankPart* part) {
  if (part == nullptr) check_dataset(dataset);  // of a rank's part, the whole was looked at
  Blueprint blueprint;
  blueprint.compiled = options.compiled != nullptr ? *options.compiled : *compile_for(dataset, options, part);
  check_compiled(blueprint.compiled, options.model);
  blueprint.graphs = runtime::derive_graphs(dataset.graph, &blueprint.compiled.program, threads_of(options));
  passes::Options passes = options.passes;
  apply_schedule(blueprint.compiled.schedule, &passes);
  passes.loss = options.loss;
  passes.loss.validation = part != nullptr ? part->validates : !epochs::labelled_split(dataset).val.empty();
  passes.value_bytes = value_bytes;
  passes::LossRows known = loss_rows_of(dataset, blueprint.graphs);
  passes.loss_rows.count = known.count;
  passes.loss_rows.edges = std::move(known.edges);
  passes.loss_rows.label_bytes = known.label_bytes;
  if (part != nullptr) {
    passes.distribution = distribution_of(*part, &blueprint.compiled.program, &passes.loss_rows);
    passes.distribution.in_order = part->in_order;
    // Kernels of cards weigh by the highest score of a row.
    passes.distribution.gives_range = part->in_order && passes.target == planner::Target::kCpu;
    passes.excess_bytes = nullptr;  // each rank would fit in its own way
    passes.edge_loops = false;
  } else {
    passes.near = graph::near_edges(dataset.graph, {}, threads_of(options));
  }
  passes.feature_dtype = dataset.features.dtype;
  passes.file_room.features = value_bytes == sizeof(float) && !data::is_lent(dataset.features) &&
                              (as_in_file(dataset.features.dense) || as_in_file(dataset.features.halves));
  passes.feature_bytes = dataset.features.bytes();
  passes.recompute_limits.besides_bytes = dataset.bytes();
  passes.feature_nonzeros = dataset.features.sparse ? dataset.features.nonzeros() : 0;
  if (options.device_bytes > 0 && part == nullptr) keep_within_device(dataset, options, &passes);
  blueprint.plan = passes::build_plan(blueprint.compiled.program, passes);
  if (options.by_layers) {
    blueprint.graphs.clear();  // chunks of rows bring their own edges
  } else {
    runtime::derive_the_rest(dataset.graph, dataset.split.train, blueprint.plan, &blueprint.graphs, threads_of(options),
                             part == nullptr ? nullptr : part->reversed.get());
  }
  return blueprint;
}

}  // namespace gneiss::train
