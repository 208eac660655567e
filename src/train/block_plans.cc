// Constants of the full graph are one plan over it, run once and forgotten.
#include "train/block_plans.h"

#include <cmath>
#include <utility>

#include "runtime/executor.h"
#include "runtime/structures.h"

namespace gneiss::train {

passes::Options block_passes(const SessionOptions& options) {
  passes::Options made = options.passes;
  made.loss = options.loss;
  made.near = {};
  made.feature_dtype = HalfType::kNone;
  made.feature_nonzeros = 0;
  made.file_room = {};
  made.loss_rows = {};
  made.edge_loops = false;
  made.excess_bytes = nullptr;
  return made;
}

passes::BlockCapacity block_capacity(const minibatch::BatchShape& shape) {
  passes::BlockCapacity capacity;
  for (int level = 0; level <= shape.hops; ++level)
    capacity.nodes.push_back(shape.nodes[static_cast<std::size_t>(level)]);
  for (int hop = 0; hop < shape.hops; ++hop) capacity.edges.push_back(shape.edges[static_cast<std::size_t>(hop)]);
  return capacity;
}

minibatch::BatchShape with_margin(minibatch::BatchShape shape) {
  for (std::int64_t& n : shape.nodes) n = static_cast<std::int64_t>(std::ceil(static_cast<double>(n) * kRoomMargin));
  for (std::int64_t& m : shape.edges) m = static_cast<std::int64_t>(std::ceil(static_cast<double>(m) * kRoomMargin));
  return shape;
}

std::vector<float> graph_constants(const data::Dataset& dataset, const ir::Program& constants,
                                   const SessionOptions& options) {
  if (constants.ops.empty()) return {};
  passes::Options made = block_passes(options);
  made.loss.kind = passes::LossSpec::Kind::kNone;
  const ir::Plan plan = passes::build_plan(constants, made);
  runtime::DerivedGraphs derived;
  runtime::derive_the_rest(dataset.graph, {}, plan, &derived, threads_of(options));
  runtime::Parameters<float> none(plan);
  runtime::Executor<float> executor(plan, none, {threads_of(options), {}}, {std::move(derived), {}, {}});
  runtime::Inputs inputs;
  inputs.graphs.push_back({dataset.graph.in_edges(), {}, dataset.graph.weights()});
  executor.bind(inputs);
  for (const ir::Phase phase : {ir::Phase::kSetup, ir::Phase::kForward, ir::Phase::kInference}) executor.run(phase, {});
  const MatrixView<const float> values = executor.read(plan.program.output("logits"));
  std::vector<float> rows;
  rows.reserve(static_cast<std::size_t>(values.size()));
  for (std::int64_t r = 0; r < values.rows; ++r) rows.insert(rows.end(), values.row(r), values.row(r) + values.cols);
  return rows;
}

}  // namespace gneiss::train
