#include "passes/source_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parallel.h"
#include "graph/source_blocks.h"
#include "kernels/kernel.h"
#include "kernels/spmm.h"

namespace gneiss::passes {
namespace {

using ir::Op;
using ir::OpKind;

/// Of what the least seconds are, a choice may take so much more: a smaller block is safer where a cache is shared, and not to cut
/// at all takes no memory.
constexpr double kTolerance = 1.1;

struct Cut {
  std::int64_t block = 0;  ///< sources
  double seconds = 0;      ///< modelled
  bool pays = false;
};

/// The smallest block among the best, for at least one source; sizes of a block are tried in steps of half a doubling.
Cut cut_for(const Rates& rates, std::int64_t sources, std::int64_t destinations, std::int64_t edges, std::int64_t columns) {
  const std::int64_t row_bytes = columns * std::int64_t{sizeof(float)};
  std::vector<Cut> cuts;
  for (const double mib : {0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0}) {
    const auto most = std::clamp<std::int64_t>(static_cast<std::int64_t>(mib * (1 << 20)) / row_bytes, 1, graph::kMostBlockCols);
    const std::int64_t block = num_chunks(sources, num_chunks(sources, most));
    const double seconds = blocked_gather_seconds(rates, static_cast<double>(edges), static_cast<double>(destinations), static_cast<double>(sources),
                                                  static_cast<double>(columns), static_cast<double>(block));
    cuts.push_back({.block = block, .seconds = seconds});
  }
  const auto faster = [](const Cut& a, const Cut& b) { return a.seconds < b.seconds; };
  const double least = std::min_element(cuts.begin(), cuts.end(), faster)->seconds;
  Cut cut = *std::find_if(cuts.begin(), cuts.end(), [&](const Cut& c) { return c.seconds <= kTolerance * least; });
  const double whole = gather_seconds(rates, static_cast<double>(edges), static_cast<double>(destinations), static_cast<double>(sources), static_cast<double>(columns));
  // Where there is not more to gather than to write, a band that need not write the result is worth more.
  cut.pays = cut.block < sources && edges > destinations && kTolerance * cut.seconds < whole;
  return cut;
}

/// Widest sum or mean along one direction of a graph, in columns that are swept at once; 0 if there is none. What runs
/// once counts only if nothing else runs.
std::int64_t widest_sum(const ir::Program& program, std::int64_t graph, bool out_edges) {
  std::int64_t widest[2] = {0, 0};
  for (const Op& op : program.ops) {
    const std::string fn = op.attrs.text("fn", "sum");
    if (op.kind != OpKind::spmm || op.attrs.integer("graph", 0) != graph || (fn != "sum" && fn != "mean")) continue;
    if ((op.attrs.integer("transpose", 0) != 0) != out_edges) continue;
    std::int64_t& most = widest[op.phase == ir::Phase::kSetup ? 1 : 0];
    most = std::max(most, std::min(program.type(op.inputs[0]).cols, kernels::kSpmmBlockColumns));
  }
  return widest[0] > 0 ? widest[0] : widest[1];
}

SourceBlocking wanted(const ir::Plan& plan, SourceBlocking blocking) {
  if (plan.value_bytes != sizeof(float)) return SourceBlocking::kOff;
  const std::string_view forced = kernels::forced_variant("spmm");
  if (forced.empty()) return blocking;
  return forced == "cpu_blocked" ? SourceBlocking::kOn : SourceBlocking::kOff;
}

}  // namespace

void choose_source_blocks(ir::Plan* plan, SourceBlocking blocking, const Rates& rates, std::vector<std::string>* decisions) {
  blocking = wanted(*plan, blocking);
  if (blocking == SourceBlocking::kOff) return;
  const ir::Program& program = plan->program;
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const ir::GraphDef& graph = program.graphs[g];
    const std::int64_t src = program.node_sets[static_cast<std::size_t>(graph.src_set)].size;
    const std::int64_t dst = program.node_sets[static_cast<std::size_t>(graph.dst_set)].size;
    for (const bool out_edges : {false, true}) {
      const std::int64_t columns = widest_sum(program, static_cast<std::int64_t>(g), out_edges);
      const std::int64_t rows = out_edges ? src : dst;
      const std::int64_t sources = out_edges ? dst : src;
      if (columns == 0 || rows <= 0 || sources <= 0) continue;
      const Cut cut = cut_for(rates, sources, rows, graph.num_edges, columns);
      const bool on = blocking == SourceBlocking::kOn || cut.pays;
      const std::int64_t blocks = num_chunks(sources, cut.block);
      const double edges = static_cast<double>(graph.num_edges) / static_cast<double>(rows * blocks);
      decisions->push_back(fmt::format("{}-edges of graph {}: {} blocks of {} sources for {} columns, {:.1f} edges each row: {}", out_edges ? "out" : "in", g, blocks, cut.block,
                                       columns, edges, on ? "cut" : "left whole"));
      if (!on) continue;
      ir::GraphUse& use = plan->graph_uses[g];
      (out_edges ? use.out_block : use.in_block) = cut.block;
      use.block_bytes += graph::most_source_block_bytes(rows, sources, graph.num_edges, cut.block);
    }
  }
}

}  // namespace gneiss::passes
