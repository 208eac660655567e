// Layer normalisation on the CPU: rows one by one, or the whole matrix by sums over fixed chunks.
#include <cmath>

#include "kernels/cpu/chunk_sums.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/layer_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

double sum_of(const float* x, std::int64_t d) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < d; ++c) sum += x[c];
  return sum;
}

double sum_of_squares(const float* x, std::int64_t d, double mean) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < d; ++c) sum += (x[c] - mean) * (x[c] - mean);
  return sum;
}

/// y = (x - mean) * scale * gamma + beta for one row.
void normalise_row(const LayerNormArgs<float>& args, std::int64_t r, float mean, float scale) {
  const float* x = args.x.row(r);
  const float* gamma = args.gamma.data;
  const float* beta = args.beta.data;
  float* y = args.y.row(r);
#pragma omp simd
  for (std::int64_t c = 0; c < args.x.cols; ++c) y[c] = (x[c] - mean) * scale * gamma[c] + beta[c];
}

void add_values(const ConstMatrixView<float>& x, std::int64_t begin, std::int64_t end, double* sum) {
  for (std::int64_t r = begin; r < end; ++r) *sum += sum_of(x.row(r), x.cols);
}

void add_squares(const ConstMatrixView<float>& x, double mean, std::int64_t begin, std::int64_t end, double* sum) {
  for (std::int64_t r = begin; r < end; ++r) *sum += sum_of_squares(x.row(r), x.cols, mean);
}

void normalise_graph(const LayerNormArgs<float>& args, float mean, float scale, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) normalise_row(args, r, mean, scale);
}

void normalise_nodes(const LayerNormArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t d = args.x.cols;
  const double count = static_cast<double>(std::max<std::int64_t>(1, d));
  for (std::int64_t r = begin; r < end; ++r) {
    const double mean = sum_of(args.x.row(r), d) / count;
    const double var = sum_of_squares(args.x.row(r), d, mean) / count;
    args.mean.at(r, 0) = static_cast<float>(mean);
    args.var.at(r, 0) = static_cast<float>(var);
    normalise_row(args, r, static_cast<float>(mean), static_cast<float>(1 / std::sqrt(var + args.eps)));
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
HWY_EXPORT(normalise_graph);
HWY_EXPORT(normalise_nodes);

void layer_norm(const Context& context, const LayerNormArgs<float>& args) {
  const std::int64_t n = args.x.rows;
  const std::int64_t d = args.x.cols;
  if (!args.graph_mode) {
    parallel_rows(context.threads, n, d, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(normalise_nodes)(args, begin, end);
    });
    return;
  }
  const double count = static_cast<double>(std::max<std::int64_t>(1, n * d));
  const double mean = *chunk_sums(context, n, 1, [&](std::int64_t begin, std::int64_t end, double* sum) {
    HWY_DYNAMIC_DISPATCH(add_values)(args.x, begin, end, sum);
  }) / count;
  const double var = *chunk_sums(context, n, 1, [&](std::int64_t begin, std::int64_t end, double* sum) {
    HWY_DYNAMIC_DISPATCH(add_squares)(args.x, mean, begin, end, sum);
  }) / count;
  args.mean.at(0, 0) = static_cast<float>(mean);
  args.var.at(0, 0) = static_cast<float>(var);
  const auto scale = static_cast<float>(1 / (std::sqrt(var) + args.eps));
  parallel_rows(context.threads, n, d, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(normalise_graph)(args, static_cast<float>(mean), scale, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
