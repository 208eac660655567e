#include "torch_design.h"

#include <algorithm>

namespace gneiss::bench {
namespace {

#if defined(__x86_64__)
#define GNEISS_BENCH_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2,fma", "default")))
#else
#define GNEISS_BENCH_CLONES
#endif

GNEISS_BENCH_CLONES void add_rows(const std::int64_t* offsets, const std::int64_t* columns, const float* weights,
                                  const float* x, float* y, std::int64_t width, std::int64_t begin, std::int64_t end) {
  for (std::int64_t v = begin; v < end; ++v) {
    float* to = y + v * width;
    std::fill_n(to, width, 0.0F);
    for (std::int64_t k = offsets[v]; k < offsets[v + 1]; ++k) {
      const float* from = x + columns[k] * width;
      const float weight = weights[k];
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) to[c] += weight * from[c];
    }
  }
}

}  // namespace

void torch_design_spmm(int threads, std::span<const std::int64_t> offsets, std::span<const std::int64_t> columns,
                       std::span<const float> weights, ConstMatrixView<float> x, MatrixView<float> y) {
  const std::int64_t edges = offsets.back();
  const auto row_of = [&](int part) {
    return std::lower_bound(offsets.begin(), offsets.end(), edges / threads * part) - offsets.begin();
  };
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    const std::int64_t begin = part == 0 ? 0 : row_of(part);
    const std::int64_t end = part + 1 == threads ? y.rows : row_of(part + 1);
    add_rows(offsets.data(), columns.data(), weights.data(), x.data, y.data, x.cols, begin, end);
  }
}

}  // namespace gneiss::bench
