// Adds up what the plan says: parameters and their copies, constants, arena, bands, and the structures that its graphs
// need. Plan::releases says what is subtracted from which moment on.
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

/// Structures that were made for the run.
bool is_of_structures(ir::Released what) { return what == ir::Released::kInEdges || what == ir::Released::kOutEdges; }

/// Bytes of what is freed until a moment, of the kinds that `counts` takes.
template <class Counts>
std::int64_t released_until(const ir::Plan& plan, std::int32_t moment, const Counts& counts) {
  std::int64_t bytes = 0;
  for (const ir::Release& release : plan.releases)
    bytes += release.after <= moment && counts(release.what) ? release.bytes : 0;
  return bytes;
}

/// At the fullest moment of the setup phase, what is not there: constants that later steps make, ids that earlier ones
/// were the last to read.
std::int64_t absent_in_setup(const ir::Plan& plan) {
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
    std::int64_t absent = released_until(plan, i - 1, is_of_structures);
    for (const auto& [offset, constant] : constants) absent += constant.first > i ? constant.second : 0;
    least = std::min(least, absent);
  }
  return least;
}

}  // namespace

std::int64_t label_bytes(const data::Labels& labels) {
  return labels.targets.empty() ? std::int64_t{sizeof(std::int32_t)} : labels.num_classes * std::int64_t{sizeof(float)};
}

std::int64_t PlannedBytes::peak() const {
  return std::max({derived, structures - data_at_once, setup - data_before_setup, steps - data_after_setup});
}

std::int64_t PlannedBytes::peak_of_kept() const { return std::max({derived, structures, setup, steps}); }

PlannedBytes planned_bytes(const ir::Plan& plan, std::int64_t bytes_of_label, const SessionOptions& options) {
  // Values, gradients, optimizer state and the best weights so far.
  const int copies = 3 + runtime::Optimizer<float>::state_values(options.optimizer);
  std::int64_t fixed = plan.total_bytes(copies, threads_of(options)) - plan.arena_bytes;
  for (const ir::GraphDef& graph : plan.program.graphs) {  // what the executor copies of the labels
    if (graph.origin == ir::GraphOrigin::kLossRows)
      fixed += graph.num_edges * (bytes_of_label + std::int64_t{sizeof(NodeId)});
  }
  PlannedBytes bytes;
  bytes.total = fixed + plan.arena_bytes;
  bytes.setup = fixed + plan.setup_arena_bytes - plan.loss_tile_bytes() - absent_in_setup(plan);
  bytes.steps = bytes.total -
                released_until(plan, ir::Release::kAfterSetup, [](ir::Released what) { return !ir::is_of_data(what); });
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
  bytes.data_at_once = released_until(plan, ir::Release::kAtOnce, ir::is_of_data);
  bytes.data_before_setup = released_until(plan, ir::Release::kBeforeSetup, ir::is_of_data);
  bytes.data_after_setup = released_until(plan, ir::Release::kAfterSetup, ir::is_of_data);
  return bytes;
}

}  // namespace gneiss::train
