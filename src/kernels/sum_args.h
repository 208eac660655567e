// What spmm is given, for who sums in its place while rows are on their way.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/program.h"
#include "kernels/call.h"
#include "kernels/op_arguments.h"
#include "kernels/spmm.h"

namespace gneiss::kernels {

/// The arguments of an spmm whose rows are f32 or f64, without tiles: as bind_call takes them of `operands`.
template <class T, Space S>
SpmmArgs<T, S> sum_args(const ir::Op& op, const Operands<T, S>& operands) {
  SpmmArgs<T, S> args;
  args.pattern = *operands.in_edges(static_cast<std::int32_t>(op.attrs.integer("graph", 0)));
  args.x = ConstMatrixView<T, S>(operands.real(op.inputs[0]));
  if (ir::weighs_edges(op)) {
    const MatrixView<T, S> weights = operands.real(op.inputs[1]);
    args.w = {weights.data, static_cast<std::size_t>(weights.size())};
  }
  args.heads = op.attrs.integer("heads", 1);
  args.reduce = enumerator(kReduces, op.attrs.text("fn", "sum"));
  args.y = operands.real(op.results[0]);
  args.arg = operands.index(op.results.size() > 1 ? op.results[1] : ir::kNoValue);
  if (op.attrs.integer("scaled", 0) != 0) args.scales = ConstMatrixView<T, S>(operands.real(op.inputs.back()));
  return args;
}

}  // namespace gneiss::kernels
