// Clears rows and adds a run of pieces to theirs, on several threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "exchange/sum_pieces.h"
#include "kernels/spmm_pieces.h"

namespace gneiss::exchange {

/// Gives every element of `rows` that value.
template <class U>
void fill_rows(const kernels::Context& context, MatrixView<U> rows, U value) {
  constexpr std::int64_t kRows = 1024;  // that a thread takes at a time
  parallel_chunks(context.threads, rows.rows, kRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) std::fill_n(rows.row(r), rows.cols, value);
  });
}

/// The same of the rows that `which` names.
template <class U>
void fill_rows(const kernels::Context& context, MatrixView<U> rows, std::span<const NodeId> which, U value) {
  constexpr std::int64_t kRows = 1024;
  parallel_chunks(context.threads, std::ssize(which), kRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      std::fill_n(rows.row(which[static_cast<std::size_t>(i)]), rows.cols, value);
  });
}

/// The first piece from `piece` on that begins a row, as far as `end`.
inline std::int64_t row_start(const PieceList& list, std::int64_t begin, std::int64_t piece, std::int64_t end) {
  if (piece <= begin) return begin;
  while (piece < end && list.rows[static_cast<std::size_t>(piece)] == list.rows[static_cast<std::size_t>(piece) - 1])
    ++piece;
  return piece;
}

/// Adds the pieces [begin, end) of a list whose rows follow one another. `between` is called on the calling thread
/// whenever that is through with a few pieces.
template <class T, class Between>
void add_pieces(const kernels::Context& context, const PieceList& list, const kernels::SpmmArgs<T>& sum,
                std::int64_t begin, std::int64_t end, const Between& between) {
  constexpr std::int64_t kGrain = 128;  // pieces that a thread takes at a time
  if (begin == end) return;
  kernels::SpmmPiecesArgs<T> args{sum, list.rows.span(), list.positions.span()};
  args.sum.pattern = list.pattern(sum.x.rows);
  parallel_tasks(context.threads, num_chunks(end - begin, kGrain), [&](std::int64_t task, int thread) {
    const std::int64_t from = row_start(list, begin, begin + task * kGrain, end);
    const std::int64_t to = row_start(list, begin, std::min(end, begin + (task + 1) * kGrain), end);
    if (from < to) kernels::spmm_pieces(args, from, to);
    if (thread == 0) between();
  });
}

template <class T>
void add_pieces(const kernels::Context& context, const PieceList& list, const kernels::SpmmArgs<T>& sum,
                std::int64_t begin, std::int64_t end) {
  add_pieces(context, list, sum, begin, end, [] {});
}

}  // namespace gneiss::exchange
