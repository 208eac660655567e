// One sum over in-edges on a device whose rows of other nodes are on their way: by `stream` or `fine`.
//
// Own entries are added to the result, others' to a half of its own, and the halves are joined at the end, in the rows
// that have any of others'. What there is of a row is added in the order of its entries (sum_pieces.h); pieces of a row
// follow one another on one thread. So bits depend on neither threads nor the numbers of the tuner.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/buffer.h"
#include "exchange/exchange.h"
#include "exchange/sum_pieces.h"
#include "kernels/halo.h"
#include "kernels/spmm_pieces.h"
#include "pgas/space.h"

namespace gneiss::exchange {

/// Elements of a row that lands: rows begin cache lines.
constexpr std::int64_t landing_stride(std::int64_t cols, std::int64_t value_bytes) {
  const std::int64_t line = 64 / value_bytes;
  return (cols + line - 1) / line * line;
}

/// How much of each memory the sums need that were taken so far.
struct SumRoomSize {
  std::int64_t others = 0;   ///< elements
  std::int64_t landing = 0;  ///< likewise
  std::int64_t args = 0;     ///< of either half

  /// Of a sum of `rows` x `cols`; `landing_rows` come at a time.
  void take(std::int64_t rows, std::int64_t cols, std::int64_t landing_rows, bool extreme, std::int64_t value_bytes);
  std::int64_t bytes(std::int64_t value_bytes) const {
    return (others + landing) * value_bytes + 2 * args * std::int64_t{sizeof(std::int32_t)};
  }
};

/// Memory that sums use one after the other: others' halves, and where fetched rows land.
template <class T>
class SumRoom {
 public:
  /// Makes room for a sum of `rows` x `cols`; `landing` rows come at a time. Not while a sum runs.
  void reserve(std::int64_t rows, std::int64_t cols, std::int64_t landing, bool extreme);
  std::int64_t bytes() const { return size_.bytes(sizeof(T)); }

  MatrixView<T> others(std::int64_t rows, std::int64_t cols) { return {others_.data(), rows, cols}; }
  MatrixView<std::int32_t> others_arg(std::int64_t rows, std::int64_t cols) { return {others_arg_.data(), rows, cols}; }
  MatrixView<std::int32_t> own_arg(std::int64_t rows, std::int64_t cols) { return {own_arg_.data(), rows, cols}; }
  /// Rows that land begin cache lines.
  MatrixView<T> landing(std::int64_t first, std::int64_t rows, std::int64_t cols) {
    const std::int64_t stride = landing_stride(cols, sizeof(T));
    return {landing_.data() + first * stride, rows, cols, stride};
  }

 private:
  SumRoomSize size_;
  Buffer<T> others_;
  Buffer<std::int32_t> others_arg_;
  Buffer<std::int32_t> own_arg_;
  Buffer<T> landing_;
};

/// The edges of a sum as an exchange takes them up. Sums over the same edges with the same needs share them.
struct SumPieces {
  SumNeeds needs;
  std::vector<NodeId> shared_rows;  ///< those with entries from others' nodes
  std::variant<StreamPieces, FinePieces> cut;

  std::int64_t bytes() const;
};
/// `edges`: columns are own rows and ghosts as `halo` has them. Of `stream` and `fine`; `tuning` is of fine alone.
SumPieces sum_pieces(Exchange exchange, const Tuning& tuning, const SparsePattern& edges, const comm::HaloPlan& halo,
                     SumNeeds needs);
/// What spmm with these arguments needs.
template <class T>
SumNeeds needs_of(const kernels::SpmmArgs<T>& args) {
  return {!args.w.empty(), args.reduce == kernels::Reduce::kMax || args.reduce == kernels::Reduce::kMin};
}

template <class T>
class ExchangedSum {
 public:
  /// `pieces` are of the edges and needs of `args`. They, `halo` and `room` must outlive this; arguments may change
  /// later, but for their sizes and edges.
  ExchangedSum(const SumPieces* pieces, const kernels::SpmmArgs<T>& args, const comm::HaloPlan& halo, SumRoom<T>* room);

  /// Makes room once the pieces were cut anew.
  void reserve(const kernels::SpmmArgs<T>& args);

  /// Computes args.y, and args.arg where it is there, as spmm would.
  ///   shown      what halo_start began: all devices show their rows; of `stream` the rows of ghosts are on their way
  ///              to args.x, of `fine` nothing is
  ///   overlap    false: of `stream` all rows are waited for first
  /// On return all that was fetched has come. Gets and waits are the calling thread's.
  void run(const kernels::Context& context, const kernels::SpmmArgs<T>& args, pgas::Space& space,
           const kernels::ExchangeUnderWay& shown, bool overlap);

  /// [devices] rows that it fetches in one sum; of `stream` those of halo_start.
  std::vector<std::int64_t> rows_from() const;

 private:
  /// Nothing summed up yet, in either half.
  void clear(const kernels::Context& context, const kernels::SpmmArgs<T>& own,
             const kernels::SpmmArgs<T>& others) const;
  void run_stream(const kernels::Context& context, const kernels::SpmmArgs<T>& own, const kernels::SpmmArgs<T>& others,
                  pgas::Space& space, const kernels::ExchangeUnderWay& shown, bool overlap);
  void run_fine(const kernels::Context& context, const kernels::SpmmArgs<T>& own, const kernels::SpmmArgs<T>& others,
                pgas::Space& space, const kernels::ExchangeUnderWay& shown);

  const SumPieces* pieces_;
  const comm::HaloPlan* halo_;
  SumRoom<T>* room_;
  std::vector<pgas::Token> tokens_;  ///< of blocks under way
};

extern template class SumRoom<float>;
extern template class SumRoom<double>;
extern template class ExchangedSum<float>;
extern template class ExchangedSum<double>;

}  // namespace gneiss::exchange
