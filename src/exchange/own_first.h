// One sum over in-edges on a rank that is sent others' rows: edges from own nodes while those rows are on their way,
// then edges from ghosts.
//
// A row's own entries are added in their order, then those from ghosts, owner by owner, onto what is there. So bits
// depend on the cut of the graph, not on threads nor on when rows come. Devices keep two halves instead, which `fine`
// needs (exchanged_sum.h).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "exchange/sum_pieces.h"
#include "ir/program.h"
#include "kernels/spmm.h"

namespace gneiss::exchange {

/// Rows of ghosts that were sent for.
struct Arrivals {
  std::function<void()> progress;  ///< moves what can be moved; called between pieces, on the thread that talks
  std::function<void()> wait;      ///< until they are there
};

/// Computes args.y, and args.arg where it is there, as spmm would.
///   pieces   of args.pattern, with what the sum needs
///   overlap  false: waits first; the bits are the same
/// Errors     kInternal for an extreme without args.arg; those of arrivals.wait
template <class T>
void sum_own_first(const kernels::Context& context, const StreamPieces& pieces, const kernels::SpmmArgs<T>& args,
                   const Arrivals& arrivals, bool overlap);

/// By graph, what the sums of a rank's program that begin with own edges need of its pieces.
struct GraphPieces {
  bool used = false;
  SumNeeds needs;
};
std::vector<GraphPieces> pieces_by_graph(const ir::Program& program);

/// Bytes of stream_pieces(edges, halo, needs).
std::int64_t stream_piece_bytes(const SparsePattern& edges, const comm::HaloPlan& halo, SumNeeds needs);

}  // namespace gneiss::exchange
