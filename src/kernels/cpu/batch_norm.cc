// Batch normalisation on the CPU: sums of the columns, sums of squared distances from the means, then one sweep.
#include <cmath>

#include "kernels/cpu/chunk_sums.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/batch_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

void add_values(const ConstMatrixView<float>& x, std::int64_t begin, std::int64_t end, double* sums) {
  for (std::int64_t r = begin; r < end; ++r) {
    const float* row = x.row(r);
#pragma omp simd
    for (std::int64_t c = 0; c < x.cols; ++c) sums[c] += row[c];
  }
}

void add_squares(const ConstMatrixView<float>& x, const float* mean, std::int64_t begin, std::int64_t end,
                 double* sums) {
  for (std::int64_t r = begin; r < end; ++r) {
    const float* row = x.row(r);
#pragma omp simd
    for (std::int64_t c = 0; c < x.cols; ++c) {
      const double centred = static_cast<double>(row[c]) - mean[c];
      sums[c] += centred * centred;
    }
  }
}

/// y = (x - mean) * scale + beta.
void normalise(const BatchNormArgs<float>& args, const double* scale, std::int64_t begin, std::int64_t end) {
  const float* mean = args.mean.data;
  const float* beta = args.beta.data;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.x.row(r);
    float* y = args.y.row(r);
#pragma omp simd
    for (std::int64_t c = 0; c < args.x.cols; ++c) y[c] = (x[c] - mean[c]) * static_cast<float>(scale[c]) + beta[c];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(add_values);
HWY_EXPORT(add_squares);
HWY_EXPORT(normalise);

void batch_norm(const Context& context, const BatchNormArgs<float>& args) {
  const std::int64_t n = args.x.rows;
  const std::int64_t d = args.x.cols;
  const double count = static_cast<double>(std::max<std::int64_t>(1, n));
  const double* sums = chunk_sums(context, n, d, [&](std::int64_t begin, std::int64_t end, double* part) {
    HWY_DYNAMIC_DISPATCH(add_values)(args.x, begin, end, part);
  });
  for (std::int64_t c = 0; c < d; ++c) args.mean.at(0, c) = static_cast<float>(sums[c] / count);
  double* squares = chunk_sums(context, n, d, [&](std::int64_t begin, std::int64_t end, double* part) {
    HWY_DYNAMIC_DISPATCH(add_squares)(args.x, args.mean.data, begin, end, part);
  });
  for (std::int64_t c = 0; c < d; ++c) {
    const double var = squares[c] / count;
    args.var.at(0, c) = static_cast<float>(var);
    squares[c] = args.gamma.at(0, c) / std::sqrt(var + args.eps);
  }
  parallel_rows(context.threads, n, d, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(normalise)(args, squares, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
