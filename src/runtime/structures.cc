// Counts the edges of derived graphs for the planner, and makes the structures that the plan asks for.
#include "runtime/structures.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss::runtime {
namespace {

const graph::Graph& base_of(const ir::GraphDef& def, const graph::Graph& given, const DerivedGraphs& derived) {
  return def.base == 0 ? given : *derived[static_cast<std::size_t>(def.base)];
}

graph::Graph with_self_loops(ir::GraphOrigin origin, const graph::Graph& from, int threads) {
  return origin == ir::GraphOrigin::kAddRemainingSelfLoops ? graph::add_remaining_self_loops(from, threads)
                                                           : graph::replace_self_loops(from, threads);
}

void expect_planned(const ir::GraphDef& def, const graph::Graph& made) {
  GNEISS_ASSERT(made.num_edges() == def.num_edges, "graph {} was planned with {} edges and has {}", def.name,
                def.num_edges, made.num_edges());
}

}  // namespace

DerivedGraphs derive_graphs(const graph::Graph& given, ir::Program* program, int threads) {
  DerivedGraphs derived(program->graphs.size());
  for (std::size_t g = 0; g < program->graphs.size(); ++g) {
    ir::GraphDef& def = program->graphs[g];
    GNEISS_CHECK(g == 0 || def.origin != ir::GraphOrigin::kGiven, ErrorCode::kUnsupported,
                 "program '{}' needs {} given graphs; full-graph training has one", program->name, g + 1);
    // Its edges are the given ones and a loop at each node.
    const bool waits = def.base == 0 && graph::num_self_loops(given, threads) == 0;
    if (g > 0 && !waits) {
      const auto base = static_cast<std::size_t>(def.base);
      if (base > 0 && !derived[base]) derived[base] = with_self_loops(program->graphs[base].origin, given, threads);
      derived[g] = with_self_loops(def.origin, base_of(def, given, derived), threads);
    }
    const graph::Graph& graph = derived[g] ? *derived[g] : given;
    def.num_edges = graph.num_edges() + (waits ? given.num_dst() : 0);
    def.weighted = graph.weighted();
    def.symmetric = graph.symmetric();
    program->node_sets[static_cast<std::size_t>(def.src_set)].size = graph.num_src();
    program->node_sets[static_cast<std::size_t>(def.dst_set)].size = graph.num_dst();
  }
  return derived;
}

/// The reversed graph of graph `g`.
static graph::Graph reversed_of(const std::vector<ir::GraphDef>& graphs, std::int32_t g, const graph::Graph& reversed,
                                int threads) {
  const ir::GraphDef& def = graphs[static_cast<std::size_t>(g)];
  if (def.base == 0) return with_self_loops(def.origin, reversed, threads);
  return with_self_loops(def.origin, reversed_of(graphs, def.base, reversed, threads), threads);
}

void derive_the_rest(const graph::Graph& given, std::span<const NodeId> rows, const ir::Plan& plan,
                     DerivedGraphs* derived, int threads, graph::Graph* reversed) {
  const std::vector<ir::GraphDef>& graphs = plan.program.graphs;
  derived->resize(graphs.size());
  for (std::size_t g = 1; g < graphs.size(); ++g) {
    const ir::GraphDef& def = graphs[g];
    std::optional<graph::Graph>& made = (*derived)[g];
    if (!ir::is_made(plan, g)) made.reset();
    if (made || !ir::is_made(plan, g)) continue;
    switch (def.origin) {
      case ir::GraphOrigin::kGiven:
        break;
      case ir::GraphOrigin::kAddRemainingSelfLoops:
      case ir::GraphOrigin::kReplaceSelfLoops:
        made = with_self_loops(def.origin, base_of(def, given, *derived), threads);
        break;
      case ir::GraphOrigin::kIntoLossRows:
        made = graph::edges_into(base_of(def, given, *derived), rows, threads);
        break;
      case ir::GraphOrigin::kLossRows:
        made = graph::selection(given.num_dst(), rows);
        break;
      case ir::GraphOrigin::kReversed:
        GNEISS_ASSERT(reversed != nullptr, "graph {} is made of edges that are not there", def.name);
        if (def.base == 0) continue;  // last: others are made of it
        made = reversed_of(graphs, def.base, *reversed, threads);
        break;
    }
    expect_planned(def, *made);
  }
  for (std::size_t g = 1; g < graphs.size(); ++g) {
    if (graphs[g].origin != ir::GraphOrigin::kReversed || graphs[g].base != 0 || !ir::is_made(plan, g)) continue;
    (*derived)[g] = std::move(*reversed);
    expect_planned(graphs[g], *(*derived)[g]);
  }
  if (reversed != nullptr) *reversed = {};
  for (std::size_t g = 1; g < graphs.size(); ++g) {
    if (!plan.graph_uses[g].used) (*derived)[g].reset();  // others were made of it, and nothing walks it
  }
}

Structures::Structures(const Inputs& inputs, const ir::Plan& plan, DerivedGraphs derived, int threads)
    : derived_(std::move(derived)),
      transposes_(plan.graph_uses.size()),
      in_(plan.graph_uses.size()),
      out_(plan.graph_uses.size()),
      weights_(plan.graph_uses.size()) {
  derived_.resize(plan.graph_uses.size());
  for (std::size_t g = 0; g < plan.graph_uses.size(); ++g) {
    if (derived_[g]) {
      in_[g] = derived_[g]->in_edges();
      weights_[g] = derived_[g]->weights();
    } else if (g < inputs.graphs.size()) {
      in_[g] = inputs.graphs[g].in_edges;
      weights_[g] = inputs.graphs[g].weights;
    }
    add_graph(plan, g, threads);
  }
  refill(inputs, plan);
  for (const ir::LossTiles& part : plan.loss_tiles) {
    loss_tiles_.push_back(
        graph::room_for_part((part.out_edges ? out_tiles_ : in_tiles_)[static_cast<std::size_t>(part.graph)]));
  }
  if (!inputs.features.is_sparse) return;
  features_in_ = inputs.features.sparse;
  if (plan.feature_transpose) {
    feature_transpose_ = plan.feature_slots ? graph::transpose(features_in_, true, threads)
                                            : graph::transpose(features_in_, inputs.features.values, threads);
    features_out_ = feature_transpose_.pattern();
  }
}

/// What is made of a graph that stays.
void Structures::add_graph(const ir::Plan& plan, std::size_t g, int threads) {
  const ir::GraphUse& use = plan.graph_uses[g];
  const bool stays = !plan.program.graphs[g].changes;
  if (stays && use.transpose) {
    transposes_[g] = graph::transpose(in_[g], use.slots, threads);
    out_[g] = transposes_[g].pattern();
  }
  GNEISS_ASSERT(stays || (use.in_tile == 0 && use.out_tile == 0), "graph {} changes and is cut by sources",
                plan.program.graphs[g].name);
  in_tiles_.push_back(use.in_tile > 0 ? graph::tile_sources(in_[g], use.in_tile, threads) : graph::SourceTiles());
  out_tiles_.push_back(use.out_tile > 0 ? graph::tile_sources(out_[g], use.out_tile, threads) : graph::SourceTiles());
}

void Structures::refill(const Inputs& inputs, const ir::Plan& plan) {
  for (std::size_t g = 0; g < plan.graph_uses.size(); ++g) {
    const ir::GraphDef& def = plan.program.graphs[g];
    if (!def.changes) continue;
    GNEISS_ASSERT(g < inputs.graphs.size(), "the step brings no graph {}", def.name);
    const GraphInput& given = inputs.graphs[g];
    GNEISS_ASSERT(given.weights.empty() || std::ssize(given.weights) == given.in_edges.nonzeros(),
                  "graph {} has {} edges and {} weights", def.name, given.in_edges.nonzeros(), given.weights.size());
    GNEISS_ASSERT(!plan.graph_uses[g].transpose ||
                      (given.out_edges.nonzeros() == given.in_edges.nonzeros() && !given.out_edges.offsets.empty()),
                  "the plan walks the out-edges of {}, the step does not bring them", def.name);
    in_[g] = given.in_edges;
    out_[g] = given.out_edges;
    weights_[g] = given.weights;
  }
}

void Structures::fill_loss_tiles(const ir::Plan& plan, std::int64_t num_nodes, std::span<const NodeId> rows,
                                 int threads) {
  if (plan.loss_tiles.empty()) return;
  const std::vector<std::uint8_t> marked = graph::marks(num_nodes, rows);
  for (std::size_t i = 0; i < plan.loss_tiles.size(); ++i) {
    const ir::LossTiles& part = plan.loss_tiles[i];
    const graph::SourceTiles& whole = (part.out_edges ? out_tiles_ : in_tiles_)[static_cast<std::size_t>(part.graph)];
    graph::fill_part(whole, part.sources ? graph::EntryEnd::kColumn : graph::EntryEnd::kRow, marked, threads,
                     &loss_tiles_[i]);
  }
}

void Structures::release(const ir::Release& release) {
  const auto g = static_cast<std::size_t>(release.graph);
  if (release.what == ir::Released::kInEdges) {
    if (derived_[g]) derived_[g]->drop_edges();
    in_[g].indices = {};
    weights_[g] = {};
  } else if (release.what == ir::Released::kOutEdges) {
    transposes_[g].indices = {};
    transposes_[g].slots = {};
    out_[g].indices = {};
    out_[g].slots = {};
  }
}

}  // namespace gneiss::runtime
