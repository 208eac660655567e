// Several f64 sums over the rows of a matrix: a part for each fixed chunk in the workspace, added in the order of the
// chunks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/chunks.h"
#include "kernels/kernel.h"

namespace gneiss::kernels::cpu {

/// Calls part(begin, end, sums) for fixed chunks of `rows` rows, each with its own `width` cleared sums, and returns
/// the totals: the first `width` values of the workspace. The workspace holds (reduction_chunks(rows) + 1) * width
/// values.
template <class Part>
double* chunk_sums(const Context& context, std::int64_t rows, std::int64_t width, const Part& part) {
  const std::int64_t grain = reduction_grain(rows);
  const std::int64_t chunks = num_chunks(rows, grain);
  auto* totals = reinterpret_cast<double*>(context.workspace.data());
  double* parts = totals + width;
  parallel_chunks(context.threads, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    double* sums = parts + begin / grain * width;
    std::fill_n(sums, width, 0.0);
    part(begin, end, sums);
  });
  std::fill_n(totals, width, 0.0);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::int64_t i = 0; i < width; ++i) totals[i] += parts[chunk * width + i];
  }
  return totals;
}

}  // namespace gneiss::kernels::cpu
