// Pieces are cut as the sums would cut them, once for all sums that share them.
#include "runtime/exchange_bytes.h"

#include <map>
#include <tuple>
#include <vector>

#include "exchange/exchanged_sum.h"
#include "exchange/own_first.h"
#include "exchange/sum_pieces.h"

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
std::int64_t pieces_of_sent(const ir::Plan& plan, const comm::HaloPlan& halo,
                            const std::function<SparsePattern(std::int32_t graph)>& in_edges) {
  std::int64_t bytes = 0;
  const std::vector<exchange::GraphPieces> pieces = exchange::pieces_by_graph(plan.program);
  for (std::size_t g = 0; g < pieces.size(); ++g) {
    if (pieces[g].used)
      bytes += exchange::stream_piece_bytes(in_edges(static_cast<std::int32_t>(g)), halo, pieces[g].needs);
  }
  return bytes;
}

}  // namespace

std::int64_t exchange_bytes(const ir::Plan& plan, const comm::HaloPlan& halo, bool fetched,
                            const exchange::Tuning& tuning,
                            const std::function<SparsePattern(std::int32_t graph)>& in_edges) {
  if (!fetched) return pieces_of_sent(plan, halo, in_edges);
  std::int64_t bytes = 0;
  exchange::SumRoomSize room;
  std::map<std::tuple<std::int64_t, exchange::Exchange, bool, bool>, Cut> cuts;
  for (const ir::Op& op : plan.program.ops) {
    if (op.kind != ir::OpKind::spmm || !op.attrs.has("exchange")) continue;
    const std::int64_t graph = op.attrs.integer("graph", 0);
    const SparsePattern edges = in_edges(static_cast<std::int32_t>(graph));
    const exchange::Exchange how = exchange::exchange_of(op.attrs.text("exchange", ""));
    const std::string fn = op.attrs.text("fn", "sum");
    const exchange::SumNeeds needs = {ir::weighs_edges(op), fn == "max" || fn == "min"};
    const auto [at, is_new] = cuts.try_emplace({graph, how, needs.weights, needs.extreme});
    if (is_new) {
      at->second = cut(edges, halo, how, tuning, needs);
      bytes += at->second.bytes;
    }
    const ir::Type& type = plan.program.type(op.results[0]);
    room.take(plan.program.rows(type), type.cols, at->second.landing, needs.extreme, plan.value_bytes);
  }
  return bytes + room.bytes(plan.value_bytes);
}

}  // namespace gneiss::runtime
