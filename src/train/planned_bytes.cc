// Adds up what the plan says: parameters and their copies, constants, arena, bands, and the structures that its graphs
// need. What the setup phase alone reads is subtracted from the moment its last reader is through.
#include "train/planned_bytes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "runtime/optimizer.h"

namespace gneiss::train {
namespace {

std::int64_t edge_bytes(const ir::GraphDef& graph) {
  return graph.num_edges * static_cast<std::int64_t>(sizeof(NodeId) + (graph.weighted ? sizeof(float) : 0));
}

/// Ids of edges that go when a step of the setup phase is through; -1: before the first.
struct PassingIds {
  std::int64_t bytes = 0;
  std::int32_t last_step = -1;
};

std::vector<PassingIds> passing_ids(const ir::Plan& plan) {
  std::vector<PassingIds> ids;
  for (std::size_t g = 0; g < plan.graph_uses.size(); ++g) {
    const ir::GraphUse& use = plan.graph_uses[g];
    const ir::GraphDef& graph = plan.program.graphs[g];
    if (g > 0 && use.used && !use.in_kept) ids.push_back({edge_bytes(graph), use.in_setup});
    const std::int64_t out =
        graph.num_edges * static_cast<std::int64_t>(sizeof(NodeId) + (use.slots ? sizeof(EdgeId) : 0));
    if (use.transpose && !use.out_kept) ids.push_back({out, use.out_setup});
  }
  return ids;
}

/// At the fullest moment of the setup phase, what is not there: constants that later steps make, ids that earlier ones
/// were the last to read.
std::int64_t absent_in_setup(const ir::Plan& plan, const std::vector<PassingIds>& ids) {
  std::map<std::int64_t, std::pair<std::int32_t, std::int64_t>>
      constants;  // by place: the first step that writes there, bytes
  std::set<std::int32_t> moments = {0};
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan.steps.size()); ++i) {
    const ir::Op& op = plan.program.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(i)].op)];
    if (op.phase != ir::Phase::kSetup) continue;
    moments.insert(i);
    for (const ir::ValueId v : op.results) {
      if (v == ir::kNoValue) continue;
      const ir::Placement& place = plan.placements[static_cast<std::size_t>(v)];
      if (place.storage == ir::Storage::kConstant) constants.try_emplace(place.offset_bytes, i, place.bytes);
    }
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::int32_t i : moments) {
    std::int64_t absent = 0;
    for (const PassingIds& passing : ids) absent += passing.last_step < i ? passing.bytes : 0;
    for (const auto& [offset, constant] : constants) absent += constant.first > i ? constant.second : 0;
    least = std::min(least, absent);
  }
  return least;
}

}  // namespace

std::int64_t label_bytes(const data::Labels& labels) {
  return labels.targets.empty() ? std::int64_t{sizeof(std::int32_t)} : labels.num_classes * std::int64_t{sizeof(float)};
}

PlannedBytes planned_bytes(const ir::Plan& plan, const data::Dataset& dataset, const SessionOptions& options) {
  // Values, gradients, optimizer state and the best weights so far.
  const int copies = 3 + runtime::Optimizer<float>::state_values(options.optimizer);
  std::int64_t fixed = plan.total_bytes(copies, threads_of(options)) - plan.arena_bytes;
  for (const ir::GraphDef& graph : plan.program.graphs) {  // what the executor copies of the labels
    if (graph.origin == ir::GraphOrigin::kLossRows)
      fixed += graph.num_edges * (label_bytes(dataset.labels) + std::int64_t{sizeof(NodeId)});
  }
  PlannedBytes bytes;
  bytes.total = fixed + plan.arena_bytes;
  const std::vector<PassingIds> ids = passing_ids(plan);
  bytes.setup = fixed + plan.setup_arena_bytes - plan.loss_tile_bytes() - absent_in_setup(plan, ids);
  bytes.steps = fixed + plan.lasting_arena_bytes;
  for (const PassingIds& passing : ids) bytes.steps -= passing.bytes;
  const std::size_t entry_bytes = plan.feature_slots ? sizeof(EdgeId) : sizeof(float);
  std::int64_t scratch =
      plan.feature_transpose ? graph::transpose_scratch_bytes(plan.feature_nonzeros, entry_bytes) : 0;
  for (std::size_t g = 0; g < plan.graph_uses.size(); ++g) {
    const ir::GraphUse& use = plan.graph_uses[g];
    const ir::GraphDef& graph = plan.program.graphs[g];
    if (use.transpose)
      scratch = std::max(scratch, graph::transpose_scratch_bytes(graph.num_edges, use.slots ? sizeof(EdgeId) : 0));
    bytes.structures += use.bytes + use.tile_bytes;
    if (g > 0 && ir::is_made(plan, g)) bytes.derived += edge_bytes(graph);
  }
  bytes.structures += scratch;
  const ir::GraphUse& given = plan.graph_uses[0];
  const std::int64_t edges = edge_bytes(plan.program.graphs[0]);
  if (!given.used) bytes.dropped_unused = edges;
  if (!given.in_kept && given.in_setup < 0) bytes.dropped_before = edges;
  if (!given.in_kept) bytes.dropped = edges;
  if (!plan.features_kept || plan.features_streamed) bytes.dropped += dataset.features.bytes();
  return bytes;
}

}  // namespace gneiss::train
