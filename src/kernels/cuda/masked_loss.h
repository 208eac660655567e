// The mean of a loss over the labelled entries of some rows, and its gradient: what mse and bce_with_logits share. A
// thread a row; the losses of the rows are added up in f64 (sums.h).
//
// The workspace holds the number of labelled entries, the partial sums of one sum at a time, then the loss of each row
// of the list.
#pragma once

#include "kernels/cuda/rows.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {

/// The loss of one entry and its derivative by the logit.
struct EntryLossHere {
  double loss = 0;
  double slope = 0;
};

__device__ inline bool is_labelled(double target) { return target == target; }

template <class Args>
struct HasTarget {
  Args args;

  __device__ double operator()(std::int64_t i) const {
    const std::int64_t at = i / args.targets.cols;
    const float t = args.targets.data[args.rows.data[at] * args.targets.stride + (i - at * args.targets.cols)];
    return is_labelled(t) ? 1 : 0;
  }
};

struct LossOfRow {
  const double* losses;

  __device__ double operator()(std::int64_t i) const { return losses[i]; }
};

/// One block: *count = `known`, or where that is 0 the entries of the listed rows that have a target.
[[maybe_unused]] static __global__ void join_count(const double* partials, std::int64_t entries, std::int64_t known,
                                                   double* count) {
  const double total = known == 0 ? join_stretches(partials, entries) : static_cast<double>(known);
  if (threadIdx.x == 0) *count = total > 1 ? total : 1;
}

/// `Loss::of(z, t)`: of a logit and its target. Reads each logit before it writes there.
template <class Loss, class Args>
__global__ void losses_of_rows(Args args, const double* count, double* losses) {
  const std::int64_t cols = args.logits.cols;
  for (std::int64_t r = first_item(); r < args.logits.rows; r += item_step()) {
    const std::int64_t at = find_row(args.rows, r);
    double loss = 0;
    for (std::int64_t c = 0; c < cols; ++c) {
      const double t = at < 0 ? 0 : args.targets.data[r * args.targets.stride + c];
      const bool counts = at >= 0 && is_labelled(t);
      const EntryLossHere entry = counts ? Loss::of(args.logits.data[r * args.logits.stride + c], t) : EntryLossHere{};
      loss += entry.loss;
      if (args.dlogits.rows > 0)
        args.dlogits.data[r * args.dlogits.stride + c] = static_cast<float>(entry.slope / *count);
    }
    if (at >= 0) losses[at] = loss;
  }
}

[[maybe_unused]] static __global__ void mean_of_losses(const double* partials, std::int64_t rows, const double* count,
                                                       float* loss) {
  const double total = join_stretches(partials, rows);
  if (threadIdx.x == 0) *loss = static_cast<float>(total / *count);
}

template <class Args>
std::size_t masked_loss_workspace(const Args& args) {
  // A plan does not know the rows of the list yet; there are at most as many as logits.
  return static_cast<std::size_t>(1 + kMostChunks + args.logits.rows) * sizeof(double);
}

template <class Loss, class Args>
void launch_masked_loss(const DeviceContext& context, const Args& args) {
  auto* count = reinterpret_cast<double*>(context.workspace.data);
  double* partials = count + 1;
  double* losses = partials + kMostChunks;
  const auto rows = static_cast<std::int64_t>(args.rows.size);
  const std::int64_t entries = rows * args.targets.cols;
  if (args.labelled == 0) launch_stretches(context, HasTarget<Args>{args}, entries, partials);
  launch(context, join_count, kOneBlock, partials, entries, static_cast<std::int64_t>(args.labelled), count);
  launch(context, losses_of_rows<Loss, Args>, launch_over(context, args.logits.rows), args, count, losses);
  launch_stretches(context, LossOfRow{losses}, rows, partials);
  launch(context, mean_of_losses, kOneBlock, partials, rows, count, args.loss.data);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
