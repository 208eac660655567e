// In f64 pieces are added by plain loops, in f32 by vectors (cpu/spmm_pieces.cc).
#include "kernels/spmm_pieces.h"

#include <type_traits>

#include "base/parallel.h"

namespace gneiss::kernels {
namespace {

constexpr std::int64_t kGrain = 256;

bool is_extreme(Reduce reduce) { return reduce == Reduce::kMax || reduce == Reduce::kMin; }

/// Is `value` at `position` to be taken instead of `best` at `winner`?
template <class T>
bool wins(Reduce reduce, T value, std::int32_t position, T best, std::int32_t winner) {
  if (winner < 0) return position >= 0;
  if (position < 0) return false;
  return (reduce == Reduce::kMax ? value > best : value < best) || (value == best && position < winner);
}

template <class T>
void add_piece(const SpmmPiecesArgs<T>& args, std::int64_t piece) {
  const SpmmArgs<T>& sum = args.sum;
  const auto p = static_cast<std::size_t>(piece);
  const std::int64_t row = args.rows[p];
  const std::int64_t head_width = sum.y.cols / sum.heads;
  for (EdgeId k = sum.pattern.offsets[p]; k < sum.pattern.offsets[p + 1]; ++k) {
    const T* x = sum.x.row(sum.pattern.indices[static_cast<std::size_t>(k)]);
    for (std::int64_t j = 0; j < sum.y.cols; ++j) {
      const T weight =
          sum.w.empty() ? T{1} : sum.w[static_cast<std::size_t>(sum.pattern.slot(k) * sum.heads + j / head_width)];
      const T term = weight * x[j];
      if (!is_extreme(sum.reduce)) {
        sum.y.at(row, j) += term;
        continue;
      }
      const std::int32_t position = args.positions[static_cast<std::size_t>(k)];
      if (!wins(sum.reduce, term, position, sum.y.at(row, j), sum.arg.at(row, j))) continue;
      sum.y.at(row, j) = term;
      sum.arg.at(row, j) = position;
    }
  }
}

}  // namespace

template <class T>
void spmm_pieces(const SpmmPiecesArgs<T>& args, std::int64_t begin, std::int64_t end) {
  if constexpr (std::is_same_v<T, float>) {
    cpu::spmm_pieces(args, begin, end);
  } else {
    for (std::int64_t p = begin; p < end; ++p) add_piece(args, p);
  }
}

template <class T>
void join_halves(const Context& context, const SpmmArgs<T>& args, ConstMatrixView<T> other,
                 MatrixView<std::int32_t> other_arg, std::span<const NodeId> rows) {
  const auto join_row = [&](std::int64_t v) {
    T* y = args.y.row(v);
    const T* from = other.row(v);
    if (!is_extreme(args.reduce)) {
      for (std::int64_t j = 0; j < args.y.cols; ++j) y[j] += from[j];
      return;
    }
    std::int32_t* arg = args.arg.row(v);
    const std::int32_t* positions = other_arg.row(v);
    for (std::int64_t j = 0; j < args.y.cols; ++j) {
      if (!wins(args.reduce, from[j], positions[j], y[j], arg[j])) continue;
      y[j] = from[j];
      arg[j] = positions[j];
    }
  };
  parallel_chunks(context.threads, std::ssize(rows), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) join_row(rows[static_cast<std::size_t>(i)]);
  });
  if (is_extreme(args.reduce) || (args.reduce != Reduce::kMean && args.scales.rows == 0)) return;
  const RowFactors<T> factors(args);
  parallel_chunks(context.threads, args.y.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      const T factor = factors.of(v);
      for (std::int64_t j = 0; j < args.y.cols; ++j) args.y.at(v, j) *= factor;
    }
  });
}

template void spmm_pieces<float>(const SpmmPiecesArgs<float>&, std::int64_t, std::int64_t);
template void spmm_pieces<double>(const SpmmPiecesArgs<double>&, std::int64_t, std::int64_t);
template void join_halves<float>(const Context&, const SpmmArgs<float>&, ConstMatrixView<float>,
                                 MatrixView<std::int32_t>, std::span<const NodeId>);
template void join_halves<double>(const Context&, const SpmmArgs<double>&, ConstMatrixView<double>,
                                  MatrixView<std::int32_t>, std::span<const NodeId>);

}  // namespace gneiss::kernels
