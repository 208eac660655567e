// Column sums: one row of f64 sums a fixed chunk of rows, added in the order of the chunks.
#include "kernels/chunks.h"
#include "kernels/band_views.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/sum_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Adds rows [begin, end) to sums.
void sum_chunk(const ConstMatrixView<float>& x, std::int64_t begin, std::int64_t end, double* sums) {
  for (std::int64_t r = begin; r < end; ++r) {
    const float* row = x.row(r);
#pragma omp simd
    for (std::int64_t c = 0; c < x.cols; ++c) sums[c] += row[c];
  }
}

void weighted_sum_chunk(const SumRowsArgs<float>& args, std::int64_t begin, std::int64_t end, double* sums) {
  const std::int64_t groups = args.weights.cols;
  const std::int64_t width = args.x.cols / groups;
  for (std::int64_t r = begin; r < end; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const double weight = args.weights.at(r, g);
      const float* x = args.x.row(r) + g * width;
      double* to = sums + g * width;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) to[c] += weight * x[c];
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {
namespace {

HWY_EXPORT(sum_chunk);
HWY_EXPORT(weighted_sum_chunk);

void add_rows(const SumRowsArgs<float>& args, std::int64_t begin, std::int64_t end, double* sums) {
  if (args.weights.empty()) {
    HWY_DYNAMIC_DISPATCH(sum_chunk)(args.x, begin, end, sums);
  } else {
    HWY_DYNAMIC_DISPATCH(weighted_sum_chunk)(args, begin, end, sums);
  }
}

void add_partials(const SumRowsArgs<float>& args, const double* partials, std::int64_t count) {
  for (std::int64_t c = 0; c < args.x.cols; ++c) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += partials[i * args.x.cols + c];
    args.y.at(0, c) = static_cast<float>(sum);
  }
}

}  // namespace

void sum_rows(const Context& context, const SumRowsArgs<float>& args) {
  const std::int64_t d = args.x.cols;
  const std::int64_t grain = reduction_grain(args.x.rows);
  const std::int64_t chunks = num_chunks(args.x.rows, grain);
  auto* partials = reinterpret_cast<double*>(context.workspace.data());
  parallel_chunks(context.threads, args.x.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    double* sums = partials + begin / grain * d;
    std::fill_n(sums, d, 0.0);
    add_rows(args, begin, end, sums);
  });
  add_partials(args, partials, chunks);
}

BandKernel<SumRowsArgs<float>> sum_rows_bands(const SumRowsArgs<float>& args) {
  BandKernel<SumRowsArgs<float>> kernel;
  kernel.task_bytes = static_cast<std::size_t>(args.x.cols) * sizeof(double);
  kernel.run = [](const Context& context, const SumRowsArgs<float>& all, const Band& band) {
    double* sums = task_partial<double>(context, sum_rows_bands(all), band.task);
    if (band.first()) std::fill_n(sums, all.x.cols, 0.0);
    add_rows(band_of(all, band), 0, band.end - band.begin, sums);
  };
  kernel.finish = [](const Context& context, const SumRowsArgs<float>& all, std::int64_t tasks) {
    add_partials(all, task_partial<double>(context, sum_rows_bands(all), 0), tasks);
  };
  return kernel;
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
