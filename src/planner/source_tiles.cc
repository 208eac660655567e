// For each direction of a graph, the widest sum or attention along it is modelled with its sources whole and cut at
// sizes half a doubling apart. The largest of the nearly best sizes is taken if it beats the whole by enough. Sums that
// stay whole are modelled in panels of columns in the same way.
#include "planner/source_tiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parallel.h"
#include "graph/source_tiles.h"
#include "kernels/attention_grad.h"
#include "kernels/kernel.h"
#include "kernels/spmm.h"

namespace gneiss::planner {
namespace {

using ir::Op;
using ir::OpKind;

/// Of what the least seconds are, a larger tile may take so much more: it takes fewer segments, so less memory, and
/// the sources that most edges come from stay nearer than the model knows.
constexpr double kTolerance = 1.03;
/// What tiles must gain to be cut: not to cut takes no memory.
constexpr double kLeastGain = 1.1;

/// What gathers along the edges of a pattern.
struct Walk {
  std::int64_t columns = 0;
  double edge_seconds = 0;  ///< of attention: of the softmax weights of an edge, whether cut or not
};

/// The largest tile among the best, for at least one source; sizes of a tile are tried in steps of half a doubling.
SourceCut cut_for(const cost::Rates& rates, const Near& near, std::int64_t sources, std::int64_t rows,
                  std::int64_t edges, const Walk& walk) {
  const bool attends = walk.edge_seconds > 0;
  const std::int64_t row_bytes =
      (attends ? walk.columns : std::min(walk.columns, kernels::kSpmmPanelColumns)) * std::int64_t{sizeof(float)};
  const auto columns = static_cast<double>(walk.columns);
  const auto seconds_of = [&](std::int64_t tile) {
    const auto e = static_cast<double>(edges);
    const auto r = static_cast<double>(rows);
    const auto s = static_cast<double>(sources);
    const auto b = static_cast<double>(tile);
    if (!attends) return cost::tiled_gather_seconds(rates, e, r, s, columns, b, near);
    return cost::tiled_attention_seconds(rates, e, r, s, columns, b, walk.edge_seconds, near) + e * walk.edge_seconds;
  };
  std::vector<SourceCut> cuts;
  for (const double mib : {0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0}) {
    const auto most =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(mib * (1 << 20)) / row_bytes, 1, graph::kMostTileCols);
    const std::int64_t tile = num_chunks(sources, num_chunks(sources, most));
    cuts.push_back({.tile = tile, .seconds = seconds_of(tile)});
  }
  const auto faster = [](const SourceCut& a, const SourceCut& b) { return a.seconds < b.seconds; };
  const double least = std::min_element(cuts.begin(), cuts.end(), faster)->seconds;
  return *std::find_if(cuts.rbegin(), cuts.rend(), [&](const SourceCut& c) { return c.seconds <= kTolerance * least; });
}

bool pays(const cost::Rates& rates, const Near& near, std::int64_t sources, std::int64_t rows, std::int64_t edges,
          const Walk& walk, const SourceCut& cut) {
  const double whole = cost::gather_seconds(rates, static_cast<double>(edges), static_cast<double>(rows),
                                            static_cast<double>(sources), static_cast<double>(walk.columns), near) +
                       static_cast<double>(edges) * walk.edge_seconds;
  const bool panels_do = walk.edge_seconds == 0 && walk.columns > kPanelColumns &&
                         cost::panel_gather_seconds(rates, static_cast<double>(edges), static_cast<double>(rows),
                                                    static_cast<double>(sources), static_cast<double>(walk.columns),
                                                    kPanelColumns, near) < cut.seconds;
  // Where there is not more to gather than to write, a band that need not write the result is worth more.
  return cut.tile < sources && edges > rows && kLeastGain * cut.seconds < whole && !panels_do;
}

/// What an op gathers that can run tile by tile of sources; no columns if it cannot.
Walk walk_of(const cost::Rates& rates, const ir::Program& program, const Op& op) {
  const std::string fn = op.attrs.text("fn", "sum");
  if (op.attrs.has("exchange")) return {};  // it has pieces of its own
  if (op.kind == OpKind::spmm && (fn == "sum" || fn == "mean")) return {program.type(op.inputs[0]).cols, 0};
  if (op.kind == OpKind::attention || op.kind == OpKind::attention_grad) {
    const std::int64_t scores =
        op.attrs.integer("heads", 1) * (op.kind == OpKind::attention ? 1 : kernels::kPackedValues);
    const double rate = op.kind == OpKind::attention ? rates.attention : rates.attention_grad;
    return {program.type(op.inputs[0]).cols + scores, static_cast<double>(op.attrs.integer("heads", 1)) / rate};
  }
  return {};
}

/// The widest such walk along one direction of a graph; no columns if there is none. What runs once counts only if
/// nothing else runs.
Walk widest_walk(const cost::Rates& rates, const ir::Program& program, std::int64_t graph, bool out_edges) {
  Walk widest[2];
  for (const Op& op : program.ops) {
    if (op.attrs.integer("graph", 0) != graph || (op.attrs.integer("transpose", 0) != 0) != out_edges) continue;
    const Walk walk = walk_of(rates, program, op);
    Walk& most = widest[op.phase == ir::Phase::kSetup ? 1 : 0];
    if (walk.columns > most.columns) most = walk;
  }
  return widest[0].columns > 0 ? widest[0] : widest[1];
}

SourceTiling wanted(const ir::Plan& plan, SourceTiling tiling) {
  if (plan.value_bytes != sizeof(float)) return SourceTiling::kOff;
  const std::string_view forced = kernels::forced_variant("spmm");
  if (forced.empty()) return tiling;
  const auto* variant = kernels::find_variant(kernels::spmm_variants<float>(), forced);
  const bool walks_tiles = variant != nullptr && variant->passes == kernels::Passes::kTiles;
  return walks_tiles ? SourceTiling::kOn : SourceTiling::kOff;
}

/// The parts of a pattern in tiles that steps walk alone.
void add_loss_tiles(std::int32_t graph, bool out_edges, std::int64_t rows, std::int64_t sources, ir::Plan* plan,
                    std::vector<std::string>* decisions) {
  constexpr double kMostShare = 0.8;
  const auto all = static_cast<double>(plan->program.graphs[static_cast<std::size_t>(graph)].num_edges);
  const ir::GraphUse& use = plan->graph_uses[static_cast<std::size_t>(graph)];
  for (const Op& op : plan->program.ops) {
    const bool walks = op.kind == OpKind::spmm && op.attrs.integer("graph", 0) == graph &&
                       (op.attrs.integer("transpose", 0) != 0) == out_edges;
    if (!walks || !op.attrs.has("loss") || ir::weighs_edges(op) || op.phase == ir::Phase::kSetup ||
        plan->loss_tiles_of(op) >= 0)
      continue;
    const std::int64_t edges = op.attrs.integer("loss_edges", 0);
    if (static_cast<double>(edges) > kMostShare * all) continue;
    const bool by_sources = op.attrs.text("loss", "") == "sources";
    const std::int64_t bytes =
        graph::most_source_tile_bytes(rows, sources, edges, out_edges ? use.out_tile : use.in_tile);
    plan->loss_tiles.push_back({graph, out_edges, by_sources, edges, bytes});
    decisions->push_back(
        fmt::format("{}-edges of graph {} once more, those alone {} rows of the loss: {:.0f} % of them, {:.1f} MiB",
                    out_edges ? "out" : "in", graph, by_sources ? "from" : "of", 100 * static_cast<double>(edges) / all,
                    static_cast<double>(bytes) / (1 << 20)));
  }
}

/// Sums of a step in panels of columns. What runs once is not worth the memory for a copy of a panel.
void choose_panels(ir::Plan* plan, const cost::Rates& rates, std::vector<std::string>* decisions) {
  ir::Program& program = plan->program;
  for (Op& op : program.ops) {
    const Walk walk = walk_of(rates, program, op);
    if (op.kind != OpKind::spmm || op.phase == ir::Phase::kSetup || walk.columns <= kPanelColumns ||
        op.attrs.integer("heads", 1) != 1)
      continue;
    const auto g = static_cast<std::size_t>(op.attrs.integer("graph", 0));
    const bool out_edges = op.attrs.integer("transpose", 0) != 0;
    if ((out_edges ? plan->graph_uses[g].out_tile : plan->graph_uses[g].in_tile) > 0) continue;
    const ir::GraphDef& graph = program.graphs[g];
    const auto rows = static_cast<double>(program.rows(op.results[0]));
    const auto sources = static_cast<double>(program.rows(op.inputs[0]));
    const auto edges = static_cast<double>(graph.num_edges);
    const auto columns = static_cast<double>(walk.columns);
    // What follows could take the result up row by row, and has to read it instead.
    const double passes_on = cost::stream_seconds(rates, 2 * rows * columns * double{sizeof(float)});
    const double panels =
        cost::panel_gather_seconds(rates, edges, rows, sources, columns, kPanelColumns, plan->near) + passes_on;
    const double whole = cost::gather_seconds(rates, edges, rows, sources, columns, plan->near);
    if (kLeastGain * panels >= whole) continue;
    op.attrs.set("panel", kPanelColumns);
    decisions->push_back(fmt::format("{} columns in panels of {}: %{} ({:.3g} s instead of {:.3g})", walk.columns,
                                     kPanelColumns, program.value_name(op.results[0]), panels, whole));
  }
}

}  // namespace

SourceCut source_tiles_for(const cost::Rates& rates, std::int64_t sources, std::int64_t rows, std::int64_t edges,
                           std::int64_t columns, const Near& near) {
  return cut_for(rates, near, sources, rows, edges, {columns, 0});
}

void choose_source_tiles(ir::Plan* plan, SourceTiling tiling, const cost::Rates& rates,
                         std::vector<std::string>* decisions) {
  plan->loss_tiles.clear();
  tiling = wanted(*plan, tiling);
  if (tiling == SourceTiling::kOff) return;
  const ir::Program& program = plan->program;
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const ir::GraphDef& graph = program.graphs[g];
    const std::int64_t src = program.node_sets[static_cast<std::size_t>(graph.src_set)].size;
    const std::int64_t dst = program.node_sets[static_cast<std::size_t>(graph.dst_set)].size;
    for (const bool out_edges : {false, true}) {
      const Walk walk = widest_walk(rates, program, static_cast<std::int64_t>(g), out_edges);
      const std::int64_t rows = out_edges ? src : dst;
      const std::int64_t sources = out_edges ? dst : src;
      if (walk.columns == 0 || rows <= 0 || sources <= 0 || graph.changes) continue;
      const SourceCut cut = cut_for(rates, plan->near, sources, rows, graph.num_edges, walk);
      const bool on = tiling == SourceTiling::kOn || pays(rates, plan->near, sources, rows, graph.num_edges, walk, cut);
      const std::int64_t tiles = num_chunks(sources, cut.tile);
      const double edges = static_cast<double>(graph.num_edges) / static_cast<double>(rows * tiles);
      decisions->push_back(
          fmt::format("{}-edges of graph {}: {} tiles of {} sources for {} columns, {:.1f} edges each row: {}",
                      out_edges ? "out" : "in", g, tiles, cut.tile, walk.columns, edges, on ? "cut" : "left whole"));
      if (!on) continue;
      ir::GraphUse& use = plan->graph_uses[g];
      (out_edges ? use.out_tile : use.in_tile) = cut.tile;
      use.tile_bytes += graph::most_source_tile_bytes(rows, sources, graph.num_edges, cut.tile);
      add_loss_tiles(static_cast<std::int32_t>(g), out_edges, rows, sources, plan, decisions);
    }
  }
  if (tiling == SourceTiling::kAuto) choose_panels(plan, rates, decisions);
}

}  // namespace gneiss::planner
