// The frame of the losses over matrices of targets: count the labelled entries, sweep fixed chunks, add their parts in
// order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/chunks.h"
#include "kernels/kernel.h"

namespace gneiss::kernels::cpu {

/// Calls chunk(begin, end, count) for fixed ranges of rows, where count is the number of labelled entries of the
/// counted rows (at least 1), and writes the sum of what it returns, divided by count, to args.loss.
template <class Args, class Chunk>
void masked_loss(const Context& context, const Args& args, const Chunk& chunk) {
  const std::int64_t n = args.logits.rows;
  const std::int64_t grain = reduction_grain(n);
  const std::int64_t chunks = num_chunks(n, grain);
  auto* partials = reinterpret_cast<double*>(context.workspace.data());
  parallel_chunks(context.threads, n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t labelled = 0;
    auto next = std::lower_bound(args.rows.begin(), args.rows.end(), begin);
    for (; next != args.rows.end() && *next < end; ++next) {
      const float* targets = args.targets.row(*next);
      for (std::int64_t c = 0; c < args.targets.cols; ++c) labelled += !std::isnan(targets[c]);
    }
    partials[begin / grain] = static_cast<double>(labelled);
  });
  double count = 0;
  for (std::int64_t c = 0; c < chunks; ++c) count += partials[c];
  count = std::max(1.0, count);
  parallel_chunks(context.threads, n, grain,
                  [&](std::int64_t begin, std::int64_t end) { partials[begin / grain] = chunk(begin, end, count); });
  double loss = 0;
  for (std::int64_t c = 0; c < chunks; ++c) loss += partials[c];
  args.loss.at(0, 0) = static_cast<float>(loss / count);
}

}  // namespace gneiss::kernels::cpu
