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

constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;
constexpr std::int64_t kMostBlockBytes = std::int64_t{16} << 20;
/// Below, the whole of x stays in a cache anyway.
constexpr std::int64_t kLeastBytes = std::int64_t{12} << 20;
constexpr double kLeastEdges = 15;
/// Segments as long as this gain nothing from bigger blocks.
constexpr double kManyEdges = 32;

struct Cut {
  std::int64_t block = 0;
  double edges = 0;  ///< of a segment, on average
  bool pays = false;
};

Cut cut_for(std::int64_t sources, std::int64_t destinations, std::int64_t edges, std::int64_t columns) {
  const std::int64_t bytes = sources * columns * std::int64_t{sizeof(float)};
  const double degree = static_cast<double>(edges) / static_cast<double>(std::max<std::int64_t>(1, destinations));
  const std::int64_t most = num_chunks(bytes, kBlockBytes);
  const std::int64_t least = num_chunks(bytes, kMostBlockBytes);
  std::int64_t blocks = std::clamp(static_cast<std::int64_t>(degree / kManyEdges), std::min(least, most), most);
  blocks = std::max({blocks, num_chunks(sources, graph::kMostBlockCols), std::int64_t{1}});
  Cut cut;
  cut.block = std::max<std::int64_t>(1, num_chunks(sources, blocks));
  cut.edges = degree / static_cast<double>(blocks);
  cut.pays = bytes >= kLeastBytes && blocks > 1 && cut.edges >= kLeastEdges;
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

void choose_source_blocks(ir::Plan* plan, SourceBlocking blocking, std::vector<std::string>* decisions) {
  blocking = wanted(*plan, blocking);
  if (blocking == SourceBlocking::kOff) return;
  const ir::Program& program = plan->program;
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const ir::GraphDef& graph = program.graphs[g];
    const std::int64_t src = program.node_sets[static_cast<std::size_t>(graph.src_set)].size;
    const std::int64_t dst = program.node_sets[static_cast<std::size_t>(graph.dst_set)].size;
    for (const bool out_edges : {false, true}) {
      const std::int64_t columns = widest_sum(program, static_cast<std::int64_t>(g), out_edges);
      if (columns == 0) continue;
      const std::int64_t rows = out_edges ? src : dst;
      const std::int64_t sources = out_edges ? dst : src;
      const Cut cut = cut_for(sources, rows, graph.num_edges, columns);
      const bool on = blocking == SourceBlocking::kOn || cut.pays;
      decisions->push_back(
          fmt::format("{}-edges of graph {}: {} blocks of {} sources for {} columns, {:.1f} edges each row: {}",
                      out_edges ? "out" : "in", g, num_chunks(sources, cut.block), cut.block, columns, cut.edges,
                      on ? "cut" : "left whole"));
      if (!on) continue;
      ir::GraphUse& use = plan->graph_uses[g];
      (out_edges ? use.out_block : use.in_block) = cut.block;
      use.block_bytes += graph::most_source_block_bytes(rows, sources, graph.num_edges, cut.block);
    }
  }
}

}  // namespace gneiss::passes
