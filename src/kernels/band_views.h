// The arguments of a call for a band of its rows, for kernels whose results depend, row by row, on the same rows of
// some operands and on the whole of others.
#pragma once

#include <cstdint>

#include "kernels/attention.h"
#include "kernels/attention_grad.h"
#include "kernels/batch_norm_inference.h"
#include "kernels/bce_with_logits.h"
#include "kernels/binary.h"
#include "kernels/column_groups.h"
#include "kernels/copy_columns.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/extreme_grad.h"
#include "kernels/gemm.h"
#include "kernels/kernel.h"
#include "kernels/mse.h"
#include "kernels/mul_add.h"
#include "kernels/spmm.h"
#include "kernels/spx_gemm.h"
#include "kernels/sum_rows.h"
#include "kernels/to_float.h"
#include "kernels/unary.h"
#include "kernels/unary_grad.h"

namespace gneiss::kernels {

/// Rows of an operand that has all rows; one that is broadcast (1 row) or not there (0 rows) stays as it is.
template <class View>
View band_of(const View& view, std::int64_t rows, const Band& band) {
  return view.rows == rows ? rows_of(view, band) : view;
}

template <class T>
UnaryArgs<T> band_of(UnaryArgs<T> args, const Band& band) {
  args.x = rows_of(args.x, band);
  args.y = rows_of(args.y, band);
  return args;
}

template <class T>
ToFloatArgs<T> band_of(ToFloatArgs<T> args, const Band& band) {
  args.x.data = args.x.row(band.begin);
  args.y = rows_of(args.y, band);
  return args;
}

template <class T>
UnaryGradArgs<T> band_of(UnaryGradArgs<T> args, const Band& band) {
  args.y = rows_of(args.y, band);
  args.dy = rows_of(args.dy, band);
  args.dx = rows_of(args.dx, band);
  return args;
}

template <class T>
BinaryArgs<T> band_of(BinaryArgs<T> args, const Band& band) {
  const std::int64_t rows = args.c.rows;
  args.a = band_of(args.a, rows, band);
  args.b = band_of(args.b, rows, band);
  args.c = rows_of(args.c, band);
  return args;
}

template <class T>
MulAddArgs<T> band_of(MulAddArgs<T> args, const Band& band) {
  const std::int64_t rows = args.y.rows;
  args.x = rows_of(args.x, band);
  args.a = band_of(args.a, rows, band);
  args.b = band_of(args.b, rows, band);
  args.y = rows_of(args.y, band);
  return args;
}

template <class T>
ExtremeGradArgs<T> band_of(ExtremeGradArgs<T> args, const Band& band) {
  args.a = rows_of(args.a, band);
  args.b = rows_of(args.b, band);
  args.dy = rows_of(args.dy, band);
  args.dx = rows_of(args.dx, band);
  return args;
}

/// Values of nodes only.
template <class T>
DropoutArgs<T> band_of(DropoutArgs<T> args, const Band& band) {
  args.first_row += band.begin;
  args.x = rows_of(args.x, band);
  args.y = rows_of(args.y, band);
  return args;
}

template <class T>
ColumnGroupsArgs<T> band_of(ColumnGroupsArgs<T> args, const Band& band) {
  args.weights = band_of(args.weights, args.x.rows, band);
  args.x = rows_of(args.x, band);
  args.y = rows_of(args.y, band);
  return args;
}

template <class T>
CopyColumnsArgs<T> band_of(CopyColumnsArgs<T> args, const Band& band) {
  args.src = rows_of(args.src, band);
  args.dst = rows_of(args.dst, band);
  return args;
}

template <class T>
BatchNormInferenceArgs<T> band_of(BatchNormInferenceArgs<T> args, const Band& band) {
  args.x = rows_of(args.x, band);
  args.y = rows_of(args.y, band);
  return args;
}

/// x is read as a whole.
template <class T>
SpmmArgs<T> band_of(SpmmArgs<T> args, const Band& band) {
  args.pattern = args.pattern.band(band.begin, band.end);
  args.arg = band_of(args.arg, args.y.rows, band);
  args.scales = band_of(args.scales, args.y.rows, band);
  args.y = rows_of(args.y, band);
  if (args.y_half.used()) args.y_half.data = args.y_half.row(band.begin);
  return args;
}

/// The sparse values and b are read as a whole.
template <class T>
SpxGemmArgs<T> band_of(SpxGemmArgs<T> args, const Band& band) {
  args.a = args.a.band(band.begin, band.end);
  args.c = rows_of(args.c, band);
  return args;
}

/// z and s_src are read as a whole.
template <class T>
AttentionArgs<T> band_of(AttentionArgs<T> args, const Band& band) {
  const std::int64_t rows = args.y.rows;
  args.pattern = args.pattern.band(band.begin, band.end);
  args.s_dst = rows_of(args.s_dst, band);
  args.y = rows_of(args.y, band);
  args.tangent = band_of(args.tangent, rows, band);
  args.lse = band_of(args.lse, rows, band);
  return args;
}

/// A loss: labels or targets and counted rows stay those of all nodes.
template <class LossArgs>
LossArgs loss_band_of(LossArgs args, const Band& band) {
  args.dlogits = band_of(args.dlogits, args.logits.rows, band);
  args.logits = rows_of(args.logits, band);
  return args;
}
template <class T>
CrossEntropyArgs<T> band_of(const CrossEntropyArgs<T>& args, const Band& band) {
  return loss_band_of(args, band);
}
template <class T>
BceWithLogitsArgs<T> band_of(const BceWithLogitsArgs<T>& args, const Band& band) {
  return loss_band_of(args, band);
}
template <class T>
MseArgs<T> band_of(const MseArgs<T>& args, const Band& band) {
  return loss_band_of(args, band);
}

/// What belongs to sources is cut; dy and what prepare packed are read as a whole.
template <class T>
AttentionGradArgs<T> band_of(AttentionGradArgs<T> args, const Band& band) {
  args.pattern = args.pattern.band(band.begin, band.end);
  args.z = rows_of(args.z, band);
  args.s_src = rows_of(args.s_src, band);
  args.dz = rows_of(args.dz, band);
  args.ds_src = rows_of(args.ds_src, band);
  return args;
}

/// nn and nt: rows of c; tn: rows of both operands, which are what is summed over.
template <class T>
GemmArgs<T> band_of(GemmArgs<T> args, const Band& band) {
  const bool transposed = args.orientation == Orientation::kTN;
  if (args.a_half.used()) args.a_half.data = args.a_half.row(band.begin);
  args.a = rows_of(args.a, band);
  if (transposed) {
    args.b = rows_of(args.b, band);
  } else {
    args.addend = band_of(args.addend, args.c.rows, band);
    args.c = rows_of(args.c, band);
  }
  return args;
}

template <class T>
SumRowsArgs<T> band_of(SumRowsArgs<T> args, const Band& band) {
  args.weights = band_of(args.weights, args.x.rows, band);
  args.x = rows_of(args.x, band);
  return args;
}

}  // namespace gneiss::kernels
