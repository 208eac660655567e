// The arguments of a call for a band of its rows, for kernels whose results depend, row by row, on the same rows of
// some operands and on the whole of others.
#pragma once

#include <cstdint>

#include "kernels/attention.h"
#include "kernels/batch_norm_inference.h"
#include "kernels/binary.h"
#include "kernels/column_groups.h"
#include "kernels/copy_columns.h"
#include "kernels/dropout.h"
#include "kernels/extreme_grad.h"
#include "kernels/kernel.h"
#include "kernels/mul_add.h"
#include "kernels/spmm.h"
#include "kernels/spx_gemm.h"
#include "kernels/unary.h"
#include "kernels/unary_grad.h"

namespace gneiss::kernels {

/// Rows of an operand that has all rows; one that is broadcast (1 row) or not there (0 rows) stays as it is.
template <class View>
View band_of(const View& view, std::int64_t rows, const Band& band) {
  return view.rows == rows ? view.band(band.begin, band.end) : view;
}

template <class T>
UnaryArgs<T> band_of(UnaryArgs<T> args, const Band& band) {
  args.x = args.x.band(band.begin, band.end);
  args.y = args.y.band(band.begin, band.end);
  return args;
}

template <class T>
UnaryGradArgs<T> band_of(UnaryGradArgs<T> args, const Band& band) {
  args.y = args.y.band(band.begin, band.end);
  args.dy = args.dy.band(band.begin, band.end);
  args.dx = args.dx.band(band.begin, band.end);
  return args;
}

template <class T>
BinaryArgs<T> band_of(BinaryArgs<T> args, const Band& band) {
  const std::int64_t rows = args.c.rows;
  args.a = band_of(args.a, rows, band);
  args.b = band_of(args.b, rows, band);
  args.c = args.c.band(band.begin, band.end);
  return args;
}

template <class T>
MulAddArgs<T> band_of(MulAddArgs<T> args, const Band& band) {
  const std::int64_t rows = args.y.rows;
  args.x = args.x.band(band.begin, band.end);
  args.a = band_of(args.a, rows, band);
  args.b = band_of(args.b, rows, band);
  args.y = args.y.band(band.begin, band.end);
  return args;
}

template <class T>
ExtremeGradArgs<T> band_of(ExtremeGradArgs<T> args, const Band& band) {
  args.a = args.a.band(band.begin, band.end);
  args.b = args.b.band(band.begin, band.end);
  args.dy = args.dy.band(band.begin, band.end);
  args.dx = args.dx.band(band.begin, band.end);
  return args;
}

/// Values of nodes only.
template <class T>
DropoutArgs<T> band_of(DropoutArgs<T> args, const Band& band) {
  args.first_row += band.begin;
  args.x = args.x.band(band.begin, band.end);
  args.y = args.y.band(band.begin, band.end);
  return args;
}

template <class T>
ColumnGroupsArgs<T> band_of(ColumnGroupsArgs<T> args, const Band& band) {
  args.weights = band_of(args.weights, args.x.rows, band);
  args.x = args.x.band(band.begin, band.end);
  args.y = args.y.band(band.begin, band.end);
  return args;
}

template <class T>
CopyColumnsArgs<T> band_of(CopyColumnsArgs<T> args, const Band& band) {
  args.src = args.src.band(band.begin, band.end);
  args.dst = args.dst.band(band.begin, band.end);
  return args;
}

template <class T>
BatchNormInferenceArgs<T> band_of(BatchNormInferenceArgs<T> args, const Band& band) {
  args.x = args.x.band(band.begin, band.end);
  args.y = args.y.band(band.begin, band.end);
  return args;
}

/// x is read as a whole.
template <class T>
SpmmArgs<T> band_of(SpmmArgs<T> args, const Band& band) {
  args.pattern = args.pattern.band(band.begin, band.end);
  args.arg = band_of(args.arg, args.y.rows, band);
  args.y = args.y.band(band.begin, band.end);
  if (args.y_half.used()) args.y_half.data = args.y_half.row(band.begin);
  return args;
}

/// The sparse values and b are read as a whole.
template <class T>
SpxGemmArgs<T> band_of(SpxGemmArgs<T> args, const Band& band) {
  args.a = args.a.band(band.begin, band.end);
  args.c = args.c.band(band.begin, band.end);
  return args;
}

/// z and s_src are read as a whole.
template <class T>
AttentionArgs<T> band_of(AttentionArgs<T> args, const Band& band) {
  const std::int64_t rows = args.y.rows;
  args.pattern = args.pattern.band(band.begin, band.end);
  args.s_dst = args.s_dst.band(band.begin, band.end);
  args.y = args.y.band(band.begin, band.end);
  args.tangent = band_of(args.tangent, rows, band);
  args.lse = band_of(args.lse, rows, band);
  return args;
}

}  // namespace gneiss::kernels
