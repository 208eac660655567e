// One sweep over the steps finds which ids of edges the setup phase reads, up to which step, and which the phases after
// it read. What those do not read goes: structures that were made for the run as soon as the step is through, parts of
// the data set between phases.
#include "planner/releases.h"

#include <algorithm>
#include <vector>

#include "planner/bind.h"

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Release;
using ir::Released;

/// How long something is read.
struct Reads {
  std::int32_t last = Release::kBeforeSetup;  ///< the last step of the setup phase that does
  bool kept = false;                          ///< later phases do

  void note(bool setup, std::int32_t step) {
    if (setup) {
      last = std::max(last, step);
    } else {
      kept = true;
    }
  }
};

/// Of the ids of a graph's edges.
struct EdgeReads {
  Reads in;
  Reads out;
};

std::vector<EdgeReads> find_reads(const ir::Plan& plan) {
  const ir::Program& program = plan.program;
  const auto op_of = [&](std::int32_t step) -> const Op& {
    return program.ops[static_cast<std::size_t>(plan.steps[static_cast<std::size_t>(step)].op)];
  };
  std::vector<EdgeReads> reads(program.graphs.size());
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan.steps.size()); ++i) {
    const ir::Step& step = plan.steps[static_cast<std::size_t>(i)];
    const Op& op = op_of(i);
    std::int64_t graph = op.attrs.integer("graph", -1);
    if (op.kind == OpKind::dropout && program.type(op.inputs[0]).domain == ir::Domain::kEdge)
      graph = program.type(op.inputs[0]).set;
    if (graph < 0 || step.loop >= 0) continue;
    EdgeReads& of_graph = reads[static_cast<std::size_t>(graph)];
    const bool setup = op.phase == ir::Phase::kSetup;
    const bool backwards = runs_along_out_edges(op);
    // By tiles of sources only the slots of what edges have are looked up, along out-edges.
    const bool tiled = step.walks_tiles && !(backwards && !reads_ends_only(op));
    // Degrees are differences of offsets, which stay.
    const bool ids = !tiled && op.kind != OpKind::degree;
    if (ids && !(backwards && op.kind == OpKind::spmm)) of_graph.in.note(setup, i);
    if (ids && backwards) of_graph.out.note(setup, i);
  }
  for (const ir::EdgeLoop& loop : plan.loops) {
    EdgeReads& of_graph = reads[static_cast<std::size_t>(loop.graph)];
    const bool setup = op_of(loop.first_step).phase == ir::Phase::kSetup;
    if (loop.out_edges) of_graph.out.note(setup, loop.last_step);
    // Weights lie beside the ids of in-edges.
    if (!loop.out_edges || loop.slots) of_graph.in.note(setup, loop.last_step);
  }
  return reads;
}

/// A data set's own edges stay until the phase that reads them is through.
std::int32_t moment_of_given(const ir::GraphUse& use, const Reads& reads) {
  if (!use.used) return Release::kAtOnce;
  return reads.last < 0 ? Release::kBeforeSetup : Release::kAfterSetup;
}

void add_edges(const ir::Plan& plan, std::size_t g, const EdgeReads& reads, std::vector<Release>* releases) {
  const ir::GraphUse& use = plan.graph_uses[g];
  const ir::GraphDef& graph = plan.program.graphs[g];
  if (graph.changes) return;  // it comes with each step and goes with it
  constexpr std::int64_t kId = sizeof(NodeId);
  const std::int64_t in_bytes = graph.num_edges * (kId + (graph.weighted ? std::int64_t{sizeof(float)} : 0));
  const auto number = static_cast<std::int32_t>(g);
  if (graph.origin == ir::GraphOrigin::kGiven) {
    if (!reads.in.kept) releases->push_back({Released::kGivenEdges, number, in_bytes, moment_of_given(use, reads.in)});
  } else if (use.used && !reads.in.kept) {
    releases->push_back({Released::kInEdges, number, in_bytes, reads.in.last});
  }
  if (!use.transpose || reads.out.kept) return;
  const std::int64_t out_bytes = graph.num_edges * (kId + (use.slots ? std::int64_t{sizeof(EdgeId)} : 0));
  releases->push_back({Released::kOutEdges, number, out_bytes, reads.out.last});
}

}  // namespace

void find_releases(ir::Plan* plan, std::int64_t feature_bytes) {
  std::vector<Release> releases;
  const std::vector<EdgeReads> reads = find_reads(*plan);
  for (std::size_t g = 0; g < reads.size(); ++g) add_edges(*plan, g, reads[g], &releases);
  if (!plan->features_kept) {
    releases.push_back({Released::kFeatures, 0, feature_bytes, Release::kAfterSetup});
  } else if (plan->features_streamed) {
    releases.push_back({Released::kFeaturePages, 0, feature_bytes, Release::kAfterSetup});
  }
  const std::int64_t of_setup = plan->arena_bytes - plan->lasting_arena_bytes;
  if (of_setup > 0) releases.push_back({Released::kArena, 0, of_setup, Release::kAfterSetup});
  std::stable_sort(releases.begin(), releases.end(),
                   [](const Release& a, const Release& b) { return a.after < b.after; });
  plan->releases = std::move(releases);
}

}  // namespace gneiss::planner
