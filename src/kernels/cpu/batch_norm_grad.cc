// Backward of batch normalisation: the sums of dy and of dy * (x - mean) by column, then one sweep.
#include <cmath>

#include "kernels/cpu/chunk_sums.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/batch_norm_grad.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// sums[c] += dy, sums[d + c] += dy * (x - mean).
void add_products(const BatchNormGradArgs<float>& args, std::int64_t begin, std::int64_t end, double* sums) {
  const std::int64_t d = args.x.cols;
  const float* mean = args.mean.data;
  double* products = sums + d;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.x.row(r);
    const float* dy = args.dy.row(r);
#pragma omp simd
    for (std::int64_t c = 0; c < d; ++c) {
      sums[c] += dy[c];
      products[c] += static_cast<double>(dy[c]) * (x[c] - mean[c]);
    }
  }
}

/// dx = (dy - shift - (x - mean) * slope) * gamma / sqrt(var + eps), where rule holds shift, then slope, by column.
void input_gradient(const BatchNormGradArgs<float>& args, const double* rule, std::int64_t begin, std::int64_t end) {
  const std::int64_t d = args.x.cols;
  const float* mean = args.mean.data;
  const float* gamma = args.gamma.data;
  const float* var = args.var.data;
  const auto eps = static_cast<float>(args.eps);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.x.row(r);
    const float* dy = args.dy.row(r);
    float* dx = args.dx.row(r);
#pragma omp simd
    for (std::int64_t c = 0; c < d; ++c) {
      const float scale = gamma[c] / std::sqrt(var[c] + eps);
      const float centred = dy[c] - static_cast<float>(rule[c]) - (x[c] - mean[c]) * static_cast<float>(rule[d + c]);
      dx[c] = centred * scale;
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(add_products);
HWY_EXPORT(input_gradient);

void batch_norm_grad(const Context& context, const BatchNormGradArgs<float>& args) {
  const std::int64_t n = args.x.rows;
  const std::int64_t d = args.x.cols;
  const double count = static_cast<double>(std::max<std::int64_t>(1, n));
  double* sums = chunk_sums(context, n, 2 * d, [&](std::int64_t begin, std::int64_t end, double* part) {
    HWY_DYNAMIC_DISPATCH(add_products)(args, begin, end, part);
  });
  for (std::int64_t c = 0; c < d; ++c) {
    const double spread = args.var.at(0, c) + args.eps;
    args.dbeta.at(0, c) = static_cast<float>(sums[c]);
    args.dgamma.at(0, c) = static_cast<float>(sums[d + c] / std::sqrt(spread));
    sums[c] /= count;
    sums[d + c] /= count * spread;
  }
  parallel_rows(context.threads, n, d, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(input_gradient)(args, sums, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
