// The frame of the losses over matrices of targets: count the labelled entries, sweep fixed chunks or bands of rows, add
// their parts in order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/band_views.h"
#include "kernels/chunks.h"
#include "kernels/kernel.h"

namespace gneiss::kernels::cpu {

/// Labelled entries of the counted rows, at least 1. partials: one for each fixed chunk of rows.
template <class Args>
double labelled_entries(int threads, const Args& args, double* partials) {
  const std::int64_t n = args.logits.rows;
  const std::int64_t grain = reduction_grain(n);
  parallel_chunks(threads, n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t labelled = 0;
    auto next = std::lower_bound(args.rows.begin(), args.rows.end(), begin);
    for (; next != args.rows.end() && *next < end; ++next) {
      const float* targets = args.targets.row(*next);
      for (std::int64_t c = 0; c < args.targets.cols; ++c) labelled += !std::isnan(targets[c]);
    }
    partials[begin / grain] = static_cast<double>(labelled);
  });
  double count = 0;
  for (std::int64_t c = 0; c < num_chunks(n, grain); ++c) count += partials[c];
  return std::max(1.0, count);
}

template <class Args>
void write_mean(const Args& args, double count, const double* partials, std::int64_t parts) {
  double loss = 0;
  for (std::int64_t i = 0; i < parts; ++i) loss += partials[i];
  args.loss.at(0, 0) = static_cast<float>(loss / count);
}

/// kSum(args, first, rows, count): the loss of rows first .. first + rows, whose logits and gradients `args` begins
/// with, and their gradients; count: the labelled entries of all counted rows.
template <class Args, double (*kSum)(const Args&, std::int64_t, std::int64_t, double)>
void masked_loss(const Context& context, const Args& args) {
  const std::int64_t n = args.logits.rows;
  const std::int64_t grain = reduction_grain(n);
  auto* partials = reinterpret_cast<double*>(context.workspace.data());
  const double count = labelled_entries(context.threads, args, partials);
  parallel_chunks(context.threads, n, grain, [&](std::int64_t begin, std::int64_t end) {
    partials[begin / grain] = kSum(band_of(args, {.begin = begin, .end = end}), begin, end - begin, count);
  });
  write_mean(args, count, partials, num_chunks(n, grain));
}

/// The same by bands of rows. What is shared: the count, then the partials that it is made of.
template <class Args, double (*kSum)(const Args&, std::int64_t, std::int64_t, double)>
BandKernel<Args> masked_loss_bands(const Args& all) {
  BandKernel<Args> kernel;
  kernel.shared_bytes = sizeof(double) + loss_workspace_bytes(all.logits.rows);
  kernel.task_bytes = sizeof(double);
  kernel.prepare = [](const Context& context, const Args& args) {
    auto* count = reinterpret_cast<double*>(context.workspace.data());
    *count = labelled_entries(context.threads, args, count + 1);
  };
  kernel.run = [](const Context& context, const Args& args, const Band& band) {
    const double count = *reinterpret_cast<const double*>(context.workspace.data());
    double* loss = task_partial<double>(context, masked_loss_bands<Args, kSum>(args), band.task);
    if (band.first()) *loss = 0;
    *loss += kSum(band_of(args, band), band.begin, band.end - band.begin, count);
  };
  kernel.finish = [](const Context& context, const Args& args, std::int64_t tasks) {
    const double count = *reinterpret_cast<const double*>(context.workspace.data());
    write_mean(args, count, task_partial<double>(context, masked_loss_bands<Args, kSum>(args), 0), tasks);
  };
  return kernel;
}

}  // namespace gneiss::kernels::cpu
