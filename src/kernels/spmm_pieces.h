// Sums over pieces of rows, each added to what its row has so far: spmm for rows that come one run after another.
//
// A sum goes on where the last piece of its row ended, entry by entry. So its bits depend on the order of the entries
// alone, not on where they are cut.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/spmm.h"

namespace gneiss::kernels {

template <class T>
struct SpmmPiecesArgs {
  /// The pattern has a row for each piece; x, w, heads and reduce are those of spmm. y and arg have a row for each row
  /// of the sum; arg is needed for extremes, where -1 stands for "none so far".
  SpmmArgs<T> sum;
  std::span<const NodeId> rows;             ///< [pieces] the row of y that each piece belongs to
  std::span<const std::int32_t> positions;  ///< [entries] where each stands in its row; of extremes
};

/// Adds the pieces [begin, end) to their rows, one after another on the calling thread.
///   sum, mean:  y[rows[p],:] += sum over k in piece p of w[slot k] * x[index k,:]   (mean: not yet divided)
///   max, min:   y, arg: the extreme of what is there and of the piece; of equals the one with the lower position
/// Shapes    sum.pattern: [pieces] x k; x: [k, heads d]; y: [n, heads d]; arg: as y
/// Aliasing  y, arg overlap nothing. Pieces of one row may not be added on two threads at a time.
/// Cost      as spmm, and y once more for each piece; allocates nothing
/// Source    the segments of spmm's tiled form, cut by owners or by length
template <class T>
void spmm_pieces(const SpmmPiecesArgs<T>& args, std::int64_t begin, std::int64_t end);

/// Of the two halves of a sum, own and others': y = (y + other) * s, where s are spmm's factors; of extremes the
/// better one, and 0 with arg -1 for rows without entries. Elsewhere than in `rows` the other half has nothing, and is
/// not read.
/// Shapes    args.y, other: [n, d]; args.arg, other_arg: [n, d] or empty for sums; args.pattern: of the whole sum;
///           rows: ascending, below n
template <class T>
void join_halves(const Context& context, const SpmmArgs<T>& args, ConstMatrixView<T> other,
                 MatrixView<std::int32_t> other_arg, std::span<const NodeId> rows);

namespace cpu {
void spmm_pieces(const SpmmPiecesArgs<float>& args, std::int64_t begin, std::int64_t end);
}  // namespace cpu

}  // namespace gneiss::kernels
