// Checks of sizes shared by all contracts: what disagrees with what, in one sentence.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/kernel.h"

namespace gneiss::kernels {

/// A size with its name: "x has 2708 rows".
struct Extent {
  std::string_view owner;
  std::string_view unit;
  std::int64_t size = 0;
};

template <class T>
Extent rows_of(std::string_view owner, const MatrixView<T>& view) {
  return {owner, "rows", view.rows};
}
template <class T>
Extent cols_of(std::string_view owner, const MatrixView<T>& view) {
  return {owner, "columns", view.cols};
}
template <class T>
Extent length_of(std::string_view owner, std::span<T> values) {
  return {owner, "values", static_cast<std::int64_t>(values.size())};
}
inline Extent rows_of(const SparsePattern& pattern) { return {"the pattern", "rows", pattern.rows}; }
inline Extent cols_of(const SparsePattern& pattern) { return {"the pattern", "columns", pattern.cols}; }
inline Extent nonzeros_of(const SparsePattern& pattern) { return {"the pattern", "entries", pattern.nonzeros()}; }

/// Throws kShape "op: x has 2708 rows, the pattern has 2709 columns" unless the sizes agree.
void expect_equal(std::string_view op, const Extent& got, const Extent& expected, std::string_view hint = {});

/// Throws kShape "op: gamma is 1x3, expected 1x4" unless the shape is rows x cols.
void expect_shape(std::string_view op, std::string_view owner, std::int64_t got_rows, std::int64_t got_cols,
                  std::int64_t rows, std::int64_t cols);
template <class T>
void expect_shape(std::string_view op, std::string_view owner, const MatrixView<T>& view, std::int64_t rows,
                  std::int64_t cols) {
  expect_shape(op, owner, view.rows, view.cols, rows, cols);
}

/// Throws kShape unless `rows` x `cols` broadcasts to the shape `to_rows` x `to_cols` of `to`: as many rows or one, and
/// a divisor of the columns.
void expect_broadcast(std::string_view op, std::string_view owner, std::int64_t rows, std::int64_t cols,
                      std::string_view to, std::int64_t to_rows, std::int64_t to_cols);
template <class T, class U>
void expect_broadcast(std::string_view op, std::string_view owner, const MatrixView<T>& operand, std::string_view to,
                      const MatrixView<U>& result) {
  expect_broadcast(op, owner, operand.rows, operand.cols, to, result.rows, result.cols);
}

/// Throws kShape unless the arrays of the pattern fit its sizes.
void expect_pattern(std::string_view op, const SparsePattern& pattern);
/// Throws kShape unless the tiles, if there are any, have the entries of the pattern, or room for them.
void expect_tiles(std::string_view op, const TiledPattern& tiles, const SparsePattern& pattern);
/// Throws kShape if the pattern names slots.
void expect_no_slots(std::string_view op, const SparsePattern& pattern);
/// Throws kShape unless there is at least one offset and the last one is the number of edge rows (skipped for null
/// data).
void expect_offsets(std::string_view op, std::span<const EdgeId> offsets, std::int64_t edge_rows);
/// Throws kShape unless `heads` >= 1 divides the columns of `owner`.
void expect_heads(std::string_view op, std::int64_t heads, const Extent& columns);
/// Throws kShape unless `rows` is ascending and inside 0 .. n-1 (a null list is not read).
void expect_row_list(std::string_view op, std::span<const NodeId> rows, std::int64_t n);
/// Throws kShape unless the arguments of a loss over a matrix of targets agree.
template <class Args>
void expect_masked_loss(std::string_view op, const Args& args) {
  expect_shape(op, "targets", args.targets, args.logits.rows, args.logits.cols);
  if (args.dlogits.rows > 0) expect_shape(op, "dlogits", args.dlogits, args.logits.rows, args.logits.cols);
  expect_shape(op, "loss", args.loss, 1, 1);
  expect_row_list(op, args.rows, args.logits.rows);
}
/// Throws kInternal unless the workspace holds `bytes`.
void expect_workspace(std::string_view op, const Context& context, std::size_t bytes);

}  // namespace gneiss::kernels
