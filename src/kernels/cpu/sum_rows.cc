// Column sums: one row of f64 sums a fixed chunk of rows, added in the order of the chunks.
#include "kernels/band_views.h"
#include "kernels/chunks.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/sum_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

using Wide = hn::Repartition<double, Tag>;
using Narrow = hn::Rebind<float, Wide>;
constexpr std::int64_t kWideLanes = hn::MaxLanes(Wide());

/// Adds columns [first, end) of rows [begin, end) to sums, one by one.
void add_columns(const SumRowsArgs<float>& args, std::int64_t begin, std::int64_t end, std::int64_t first,
                 double* sums) {
  const std::int64_t width = args.weights.empty() ? args.x.cols : args.x.cols / args.weights.cols;
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.x.row(r);
    for (std::int64_t c = first; c < args.x.cols; ++c) {
      sums[c] += (args.weights.empty() ? 1.0 : static_cast<double>(args.weights.at(r, c / width))) * x[c];
    }
  }
}

/// Adds kVectors vectors of columns from `first` on of rows [begin, end) to sums, which stay in registers. With weights
/// no vector lies in two groups.
template <int kVectors, bool kWeighted>
void add_panel(const SumRowsArgs<float>& args, std::int64_t begin, std::int64_t end, std::int64_t first, double* sums) {
  const Wide d;
  const Narrow narrow;
  std::int64_t group[kVectors];
  hn::Vec<Wide> sum[kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) {
    group[i] = kWeighted ? (first + i * kWideLanes) / (args.x.cols / args.weights.cols) : 0;
    sum[i] = hn::LoadU(d, sums + first + i * kWideLanes);
  }
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.x.row(r) + first;
    const float* weights = kWeighted ? args.weights.row(r) : nullptr;
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      const auto columns = hn::PromoteTo(d, hn::LoadU(narrow, x + i * kWideLanes));
      if constexpr (kWeighted) {
        sum[i] = hn::MulAdd(hn::Set(d, static_cast<double>(weights[group[i]])), columns, sum[i]);
      } else {
        sum[i] = hn::Add(sum[i], columns);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) hn::StoreU(sum[i], d, sums + first + i * kWideLanes);
}

template <bool kWeighted>
void add_panels(const SumRowsArgs<float>& args, std::int64_t begin, std::int64_t end, double* sums) {
  std::int64_t c = 0;
  for (; c + 4 * kWideLanes <= args.x.cols; c += 4 * kWideLanes) add_panel<4, kWeighted>(args, begin, end, c, sums);
  for (; c + kWideLanes <= args.x.cols; c += kWideLanes) add_panel<1, kWeighted>(args, begin, end, c, sums);
  if (c < args.x.cols) add_columns(args, begin, end, c, sums);
}

/// Adds rows [begin, end) to sums.
void add_rows(const SumRowsArgs<float>& args, std::int64_t begin, std::int64_t end, double* sums) {
  if (args.weights.empty()) return add_panels<false>(args, begin, end, sums);
  if (args.x.cols / args.weights.cols % kWideLanes == 0) return add_panels<true>(args, begin, end, sums);
  add_columns(args, begin, end, 0, sums);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {
namespace {

HWY_EXPORT(add_rows);

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
    HWY_DYNAMIC_DISPATCH(add_rows)(args, begin, end, sums);
  });
  add_partials(args, partials, chunks);
}

BandKernel<SumRowsArgs<float>> sum_rows_bands(const SumRowsArgs<float>& args) {
  BandKernel<SumRowsArgs<float>> kernel;
  kernel.task_bytes = static_cast<std::size_t>(args.x.cols) * sizeof(double);
  kernel.run = [](const Context& context, const SumRowsArgs<float>& all, const Band& band) {
    double* sums = task_partial<double>(context, sum_rows_bands(all), band.task);
    if (band.first()) std::fill_n(sums, all.x.cols, 0.0);
    HWY_DYNAMIC_DISPATCH(add_rows)(band_of(all, band), 0, band.end - band.begin, sums);
  };
  kernel.finish = [](const Context& context, const SumRowsArgs<float>& all, std::int64_t tasks) {
    add_partials(all, task_partial<double>(context, sum_rows_bands(all), 0), tasks);
  };
  return kernel;
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
