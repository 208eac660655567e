// A stand-in for the aggregation of torch >= 2 (`spmm_reduce` on CSR), to measure against where torch is not installed.
#pragma once

#include <cstdint>
#include <span>

#include "base/matrix_view.h"

namespace gneiss::bench {

/// y = A x with the design of torch's kernel: 64-bit column ids, a weight for every edge, the row of y updated in
/// memory edge by edge, rows cut into as many parts of equal numbers of edges as there are threads. Full vectors of the
/// machine's widest instruction set.
void torch_design_spmm(int threads, std::span<const std::int64_t> offsets, std::span<const std::int64_t> columns,
                       std::span<const float> weights, ConstMatrixView<float> x, MatrixView<float> y);

}  // namespace gneiss::bench
