// Aggregation of neighbours: sparse adjacency times dense features under four reductions.
#pragma once

#include <cstdint>
#include <span>

#include "base/half.h"
#include "kernels/kernel.h"

namespace gneiss::kernels {

enum class Reduce : std::uint8_t { kSum, kMean, kMax, kMin };

template <class T, Space S = Space::kHost>
struct SpmmArgs {
  SparsePatternIn<S> pattern;
  ConstMatrixView<T, S> x;
  SpanIn<const T, S> w;
  std::int64_t heads = 1;
  Reduce reduce = Reduce::kSum;
  MatrixView<T, S> y;
  MatrixView<std::int32_t, S> arg;
  TiledPatternIn<S> tiles =
      {};  ///< of `pattern`, or of a part of its entries, which are then all that is added up; or empty
  HalfElements<const std::uint16_t, S> x_half =
      {};  ///< where used: the elements of x, which then gives the shape alone; sum, mean, one head
  HalfElements<std::uint16_t, S> y_half =
      {};                  ///< where used: y is rounded to it, and `y` gives the shape alone; only with x_half
  std::int64_t panel = 0;  ///< columns of x that are copied and summed at a time, where x has more; 0: whole rows
  ConstMatrixView<T, S> scales = {};  ///< a factor for each row of y, or empty; sum, mean
};

/// What sums of rows are multiplied with. A copy of its own of what that takes: a compiler cannot know that the rows
/// that are stored are not the arguments, and would read those again for every row.
template <class T>
class RowFactors {
 public:
  explicit RowFactors(const SpmmArgs<T>& args)
      : offsets_(args.pattern.offsets.data()),
        scales_(args.scales.rows == 0 ? nullptr : args.scales.data),
        stride_(args.scales.stride),
        mean_(args.reduce == Reduce::kMean) {}

  T of(std::int64_t row) const {
    const EdgeId length = mean_ ? offsets_[row + 1] - offsets_[row] : 0;
    const T share = length > 0 ? T{1} / static_cast<T>(length) : T{1};
    return scales_ == nullptr ? share : share * scales_[row * stride_];
  }

 private:
  const EdgeId* offsets_;
  const T* scales_;
  std::int64_t stride_;
  bool mean_;
};

/// Columns that the tiled variant sweeps at a time: a tile of sources takes its columns times so many of a cache.
/// Whole rows of a wider x would want tiles so small that their segments cost more than reading the ids once a panel
/// does.
inline constexpr std::int64_t kSpmmPanelColumns = 64;

/// The same for tiles of a size that a narrower x chose: half as many where a tile's rows would take more than 8 MiB.
std::int64_t spmm_panel_columns(std::int64_t tile_cols);

/// From one copied row of a panel to the next: each begins a line of the cache.
constexpr std::int64_t packed_stride(std::int64_t columns) { return (columns + 15) / 16 * 16; }

/// Scratch where x is wider than a panel and has one head: each tile's rows of the panel, or all of them where the
/// pattern is not cut, are copied there, one behind another; rows as they lie would share lines of the cache with other
/// panels.
template <class T>
std::size_t spmm_workspace_bytes(const SpmmArgs<T>& args);

/// Aggregates the rows of x over the entries of each row of the pattern.
///   sum, mean:  y[v,h,:] = s[v] * sum over k in row v of w[slot k, h] * x[index k, h, :]   (mean: divided by the row's
///   length) max, min:   the extreme of w * x over the row, per column; arg[v,j] = position of the winner within the
///   row, -1 if empty;
///               the first of equals wins
/// Shapes    pattern: n×k; x: [k, heads·d]; w: [slots, heads] or empty (all ones); y: [n, heads·d]; arg: as y, or
/// empty;
///           scales (s): [n, 1] or empty (all ones)
/// Aliasing  y, arg overlap nothing. Empty row: 0. Bitwise equal for any number of threads.
/// Precision x in 16 bits is widened as it is read and summed in f32: the same bits as from its f32 copy, then rounded
/// for
///           y_half.
/// Cost      2·nnz·heads·d flop; >= (nnz + rows)·heads·d·sizeof(T) moved; allocates nothing, uses spmm_workspace_bytes
/// Errors    kShape
/// Source    row kernel of the CPU study: whole row in registers, edge-balanced chunks, prefetch 16–32 ahead; its
/// tiled
///           form where the arguments carry the pattern cut by sources; panels where they ask for them: a table of
///           narrow rows that fits in a cache where whole rows do not, for one more pass over the ids a panel
template <class T>
void spmm(const Context& context, const SpmmArgs<T>& args);

template <class T>
std::span<const Variant<SpmmArgs<T>>> spmm_variants();

}  // namespace gneiss::kernels
