// The frame of the losses over matrices of targets: count the labelled entries, sweep fixed chunks or bands of rows,
// add their parts in order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/band_views.h"
#include "kernels/chunks.h"
#include "kernels/kernel.h"
#include "kernels/labelled_entries.h"

namespace gneiss::kernels::cpu {

/// What the mean divides by.
template <class Args>
double divisor(int threads, const Args& args) {
  return static_cast<double>(std::max<std::int64_t>(
      1, args.labelled > 0 ? args.labelled : labelled_entries(threads, args.targets, args.rows)));
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
  const double count = divisor(context.threads, args);
  parallel_chunks(context.threads, n, grain, [&](std::int64_t begin, std::int64_t end) {
    partials[begin / grain] = kSum(band_of(args, {.begin = begin, .end = end}), begin, end - begin, count);
  });
  write_mean(args, count, partials, num_chunks(n, grain));
}

/// The same by bands of rows. What is shared: the count.
template <class Args, double (*kSum)(const Args&, std::int64_t, std::int64_t, double)>
BandKernel<Args> masked_loss_bands(const Args&) {
  BandKernel<Args> kernel;
  kernel.shared_bytes = sizeof(double);
  kernel.task_bytes = sizeof(double);
  kernel.prepare = [](const Context& context, const Args& args) {
    *reinterpret_cast<double*>(context.workspace.data()) = divisor(context.threads, args);
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
