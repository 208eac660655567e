// Pieces are cut as the sums would cut them, once for all sums that share them. A graph's edges in another order are
// there once; they go with the setup phase where no other phase reads them.
#include "runtime/exchange_bytes.h"

#include <map>
#include <tuple>
#include <vector>

#include "exchange/exchanged_sum.h"
#include "exchange/own_first.h"
#include "exchange/sum_pieces.h"
#include "runtime/structures.h"

namespace gneiss::runtime {
namespace {

struct Cut {
  std::int64_t bytes = 0;
  std::int64_t landing = 0;  ///< rows
};

Cut cut(const SparsePattern& edges, const comm::HaloPlan& halo, exchange::Exchange how, const exchange::Tuning& tuning,
        exchange::SumNeeds needs) {
  if (how == exchange::Exchange::kStream) {
    const auto rows = static_cast<std::int64_t>(exchange::rows_with_ghosts(edges, halo.owned).size() * sizeof(NodeId));
    return {exchange::stream_piece_bytes(edges, halo, needs) + rows, 0};
  }
  const exchange::SumPieces pieces = exchange::sum_pieces(how, tuning, edges, halo, needs);
  return {pieces.bytes(), std::get<exchange::FinePieces>(pieces.cut).landing_rows()};
}

/// Of a rank that is sent rows: one cut of each graph, of sums that begin with own edges.
ExchangeBytes pieces_of_sent(const ir::Plan& plan, const comm::HaloPlan& halo,
                             const std::function<SparsePattern(std::int32_t graph)>& in_edges) {
  std::int64_t bytes = 0;
  const std::vector<exchange::GraphPieces> pieces = exchange::pieces_by_graph(plan.program);
  for (std::size_t g = 0; g < pieces.size(); ++g) {
    if (pieces[g].used)
      bytes += exchange::stream_piece_bytes(in_edges(static_cast<std::int32_t>(g)), halo, pieces[g].needs);
  }
  return {bytes, bytes};
}

}  // namespace

bool adds_in_order(const ir::Plan& plan, const ir::Op& op) {
  if (op.kind != ir::OpKind::spmm || op.attrs.has("exchange") || op.attrs.integer("transpose", 0) != 0) return false;
  const std::string fn = op.attrs.text("fn", "sum");
  return (fn == "sum" || fn == "mean") &&
         plan.graph_uses[static_cast<std::size_t>(op.attrs.integer("graph", 0))].in_tile == 0 &&
         plan.loss_tiles_of(op) < 0;
}

bool weighs_in_order(const ir::Plan& plan, std::int64_t graph) {
  return std::any_of(plan.program.ops.begin(), plan.program.ops.end(), [&](const ir::Op& op) {
    return op.attrs.integer("graph", 0) == graph && adds_in_order(plan, op) && ir::weighs_edges(op);
  });
}

ExchangeBytes exchange_bytes(const ir::Plan& plan, const comm::HaloPlan& halo, const RowsFrom& from,
                             const std::function<SparsePattern(std::int32_t graph)>& in_edges, int threads) {
  if (!from.fetched) return pieces_of_sent(plan, halo, in_edges);
  const std::span<const std::int64_t> source_order = from.source_order;
  ExchangeBytes bytes;
  exchange::SumRoomSize room;
  std::map<std::tuple<std::int64_t, exchange::Exchange, bool, bool>, Cut> cuts;
  std::map<std::int64_t, std::int64_t> ordered;  // bytes by graph
  std::map<std::int64_t, bool> steps_read;       // of those
  for (const ir::Op& op : plan.program.ops) {
    if (op.kind != ir::OpKind::spmm) continue;
    const std::int64_t graph = op.attrs.integer("graph", 0);
    if (op.attrs.has("exchange")) {
      const SparsePattern edges = in_edges(static_cast<std::int32_t>(graph));
      const exchange::Exchange how = exchange::exchange_of(op.attrs.text("exchange", ""));
      const std::string fn = op.attrs.text("fn", "sum");
      const exchange::SumNeeds needs = {ir::weighs_edges(op), fn == "max" || fn == "min"};
      const auto [at, is_new] = cuts.try_emplace({graph, how, needs.weights, needs.extreme});
      if (is_new) {
        at->second = cut(edges, halo, how, from.tuning, needs);
        bytes.steps += at->second.bytes;
      }
      const ir::Type& type = plan.program.type(op.results[0]);
      room.take(plan.program.rows(type), type.cols, at->second.landing, needs.extreme, plan.value_bytes);
    } else if (!source_order.empty() && adds_in_order(plan, op)) {
      const SparsePattern edges = in_edges(static_cast<std::int32_t>(graph));
      if (edges.cols != std::ssize(source_order)) continue;
      const auto [at, is_new] = ordered.try_emplace(graph);
      if (is_new) at->second = OrderedPattern::bytes(edges, source_order, weighs_in_order(plan, graph), threads);
      steps_read[graph] |= op.phase != ir::Phase::kSetup;
    }
  }
  bytes.steps += room.bytes(plan.value_bytes);
  bytes.setup = bytes.steps;
  for (const auto& [graph, size] : ordered) {
    bytes.setup += size;
    if (steps_read[graph]) bytes.steps += size;
  }
  return bytes;
}

}  // namespace gneiss::runtime
