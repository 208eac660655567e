// Copies of some columns of rows that are read many times, one row behind another.
#pragma once

#include <algorithm>

#include "base/matrix_view.h"
#include "kernels/cpu/parallel_rows.h"
#include "kernels/kernel.h"
#include "kernels/spmm.h"

namespace gneiss::kernels::cpu {

/// Copies rows [first, first + rows) of x; the result lies in the workspace, each row from a line of the cache on.
inline ConstMatrixView<float> packed_rows(const Context& context, const ConstMatrixView<float>& x, std::int64_t first,
                                          std::int64_t rows) {
  MatrixView<float> packed(reinterpret_cast<float*>(context.workspace.data()), rows, x.cols, packed_stride(x.cols));
  parallel_rows(context.threads, rows, x.cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) std::copy_n(x.row(first + r), x.cols, packed.row(r));
  });
  return packed;
}

}  // namespace gneiss::kernels::cpu
