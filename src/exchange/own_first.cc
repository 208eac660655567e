// The result is cleared, then each piece goes on where the last one of its row ended. A row without entries from ghosts
// is not touched behind the wait, but for the factors of a mean.
#include "exchange/own_first.h"

#include <algorithm>

#include "base/error.h"
#include "exchange/add_pieces.h"

namespace gneiss::exchange {
namespace {

constexpr std::int64_t kRows = 1024;  ///< that a thread takes at a time

bool is_extreme(kernels::Reduce reduce) { return reduce == kernels::Reduce::kMax || reduce == kernels::Reduce::kMin; }

/// Times the factors of a mean, or those that spmm was given.
template <class T>
void scale(const kernels::Context& context, const kernels::SpmmArgs<T>& args) {
  if (is_extreme(args.reduce) || (args.reduce != kernels::Reduce::kMean && args.scales.rows == 0)) return;
  const kernels::RowFactors<T> factors(args);
  parallel_chunks(context.threads, args.y.rows, kRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      const T factor = factors.of(v);
      T* const y = args.y.row(v);
      for (std::int64_t j = 0; j < args.y.cols; ++j) y[j] *= factor;
    }
  });
}

}  // namespace

template <class T>
void sum_own_first(const kernels::Context& context, const StreamPieces& pieces, const kernels::SpmmArgs<T>& args,
                   const Arrivals& arrivals, bool overlap) {
  if (!overlap) arrivals.wait();
  fill_rows(context, args.y, T{0});
  if (is_extreme(args.reduce)) {
    GNEISS_ASSERT(args.arg.data != nullptr, "an extreme that begins with own edges keeps no winners");
    fill_rows(context, args.arg, -1);
  }
  const auto progress = [&] {
    if (overlap) arrivals.progress();
  };
  add_pieces(context, pieces.local, args, 0, pieces.local.pieces(), progress);
  if (overlap) arrivals.wait();
  // Pieces of one owner have rows of their own each; those of the next may have the same.
  for (std::size_t p = 0; p + 1 < pieces.owner_at.size(); ++p)
    add_pieces(context, pieces.remote, args, pieces.owner_at[p], pieces.owner_at[p + 1]);
  scale(context, args);
}

std::vector<GraphPieces> pieces_by_graph(const ir::Program& program) {
  std::vector<GraphPieces> graphs(program.graphs.size());
  for (const ir::Op& op : program.ops) {
    if (op.kind != ir::OpKind::spmm || !op.attrs.has("exchange")) continue;
    GraphPieces& graph = graphs[static_cast<std::size_t>(op.attrs.integer("graph", 0))];
    const std::string fn = op.attrs.text("fn", "sum");
    graph.used = true;
    graph.needs.weights = graph.needs.weights || ir::weighs_edges(op);
    graph.needs.extreme = graph.needs.extreme || fn == "max" || fn == "min";
  }
  return graphs;
}

std::int64_t stream_piece_bytes(const SparsePattern& edges, const comm::HaloPlan& halo, SumNeeds needs) {
  std::int64_t pieces = 0;
  const auto owner = [&](NodeId column) {
    return std::upper_bound(halo.receive_at.begin(), halo.receive_at.end(), std::int64_t{column} - halo.owned) -
           halo.receive_at.begin();
  };
  std::vector<std::int64_t> last_row(halo.receive_at.size() + 1, -1);  // by owner, the row of its last entry; 0: own
  for (std::int64_t v = 0; v < edges.rows; ++v) {
    for (EdgeId k = edges.offsets[static_cast<std::size_t>(v)]; k < edges.offsets[static_cast<std::size_t>(v) + 1];
         ++k) {
      const NodeId column = edges.indices[static_cast<std::size_t>(k)];
      std::int64_t& last = last_row[column < halo.owned ? 0 : static_cast<std::size_t>(owner(column))];
      pieces += last == v ? 0 : 1;
      last = v;
    }
  }
  const std::int64_t an_entry = static_cast<std::int64_t>(sizeof(NodeId)) +
                                (needs.weights ? static_cast<std::int64_t>(sizeof(EdgeId)) : 0) +
                                (needs.extreme ? static_cast<std::int64_t>(sizeof(std::int32_t)) : 0);
  return edges.nonzeros() * an_entry + pieces * static_cast<std::int64_t>(sizeof(NodeId)) +
         (pieces + 2) * static_cast<std::int64_t>(sizeof(EdgeId));
}

template void sum_own_first<float>(const kernels::Context&, const StreamPieces&, const kernels::SpmmArgs<float>&,
                                   const Arrivals&, bool);
template void sum_own_first<double>(const kernels::Context&, const StreamPieces&, const kernels::SpmmArgs<double>&,
                                    const Arrivals&, bool);

}  // namespace gneiss::exchange
