// Backward of layer normalisation: sums of dy and of dy * normalised x by column, then one sweep.
//
// Formulas: reference/layer_norm_grad.cc. In graph mode the two sums over the whole matrix follow from the sums by
// column: sum(g) = sum_c gamma_c dbeta_c and sum(g * u) = s * sum_c gamma_c dgamma_c.
#include <cmath>

#include "kernels/cpu/chunk_sums.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/layer_norm_grad.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// 1 / the deviation that divides row r.
float inverse_deviation(const LayerNormGradArgs<float>& args, std::int64_t r) {
  const double var = args.var.at(args.graph_mode ? 0 : r, 0);
  return static_cast<float>(1 / (args.graph_mode ? std::sqrt(var) + args.eps : std::sqrt(var + args.eps)));
}

/// sums[c] += dy, sums[d + c] += dy * (x - mean) / s.
void add_products(const LayerNormGradArgs<float>& args, std::int64_t begin, std::int64_t end, double* sums) {
  const std::int64_t d = args.x.cols;
  double* products = sums + d;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.x.row(r);
    const float* dy = args.dy.row(r);
    const float mean = args.mean.at(args.graph_mode ? 0 : r, 0);
    const float inverse = inverse_deviation(args, r);
#pragma omp simd
    for (std::int64_t c = 0; c < d; ++c) {
      sums[c] += dy[c];
      products[c] += static_cast<double>(dy[c]) * ((x[c] - mean) * inverse);
    }
  }
}

/// dx = (dy * gamma - shift) * inverse - (x - mean) * slope for one row.
void input_row(const LayerNormGradArgs<float>& args, std::int64_t r, float mean, float inverse, float shift,
               float slope) {
  const float* x = args.x.row(r);
  const float* dy = args.dy.row(r);
  const float* gamma = args.gamma.data;
  float* dx = args.dx.row(r);
#pragma omp simd
  for (std::int64_t c = 0; c < args.x.cols; ++c) {
    dx[c] = (dy[c] * gamma[c] - shift) * inverse - (x[c] - mean) * slope;
  }
}

void input_graph(const LayerNormGradArgs<float>& args, float shift, float slope, std::int64_t begin, std::int64_t end) {
  const float mean = args.mean.at(0, 0);
  const float inverse = inverse_deviation(args, 0);
  for (std::int64_t r = begin; r < end; ++r) input_row(args, r, mean, inverse, shift, slope);
}

void input_nodes(const LayerNormGradArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t d = args.x.cols;
  const double count = static_cast<double>(std::max<std::int64_t>(1, d));
  const float* gamma = args.gamma.data;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.x.row(r);
    const float* dy = args.dy.row(r);
    const float mean = args.mean.at(r, 0);
    const float inverse = inverse_deviation(args, r);
    double sum = 0;
    double product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (std::int64_t c = 0; c < d; ++c) {
      const double g = static_cast<double>(dy[c]) * gamma[c];
      sum += g;
      product += g * (x[c] - mean);
    }
    const double cube = static_cast<double>(inverse) * inverse * inverse;
    input_row(args, r, mean, inverse, static_cast<float>(sum / count), static_cast<float>(product / count * cube));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(add_products);
HWY_EXPORT(input_graph);
HWY_EXPORT(input_nodes);

void layer_norm_grad(const Context& context, const LayerNormGradArgs<float>& args) {
  const std::int64_t n = args.x.rows;
  const std::int64_t d = args.x.cols;
  const double* sums = chunk_sums(context, n, 2 * d, [&](std::int64_t begin, std::int64_t end, double* part) {
    HWY_DYNAMIC_DISPATCH(add_products)(args, begin, end, part);
  });
  double sum = 0;
  double product = 0;
  for (std::int64_t c = 0; c < d; ++c) {
    args.dbeta.at(0, c) = static_cast<float>(sums[c]);
    args.dgamma.at(0, c) = static_cast<float>(sums[d + c]);
    sum += args.gamma.at(0, c) * sums[c];
    product += args.gamma.at(0, c) * sums[d + c];
  }
  if (!args.graph_mode) {
    parallel_rows(context.threads, n, d, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(input_nodes)(args, begin, end);
    });
    return;
  }
  const double count = static_cast<double>(std::max<std::int64_t>(1, n * d));
  const double root = std::sqrt(static_cast<double>(args.var.at(0, 0)));
  const double slope = root > 0 ? product / (count * (root + args.eps) * root) : 0;
  parallel_rows(context.threads, n, d, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(input_graph)(args, static_cast<float>(sum / count), static_cast<float>(slope), begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
