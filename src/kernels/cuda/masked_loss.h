// The mean of a loss over the labelled entries of some rows, and its gradient: what mse and bce_with_logits share. Two
// launches: partial counts of the labelled entries; then every block joins these and takes its chunk of rows, a thread
// a row, and the last one joins their losses, in f64 (sums.h).
//
// The workspace holds the counter of blocks and the partial sums of the two.
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

/// A block a chunk of rows. `Loss::of(z, t)`: of a logit and its target. Reads each logit before it writes there. The
/// mean is over `known` entries, or where that is 0 over those that `counts`, partial sums over `entries`, say.
template <class Loss, class Args>
__global__ void losses_of_rows(Args args, const double* counts, std::int64_t entries, std::int64_t known,
                               double* losses, LastBlock last) {
  const double found = known == 0 ? join_stretches(counts, entries) : static_cast<double>(known);
  const double count = found > 1 ? found : 1;
  const std::int64_t cols = args.logits.cols;
  const std::int64_t length = rows_of_chunk(args.logits.rows);
  const std::int64_t begin = blockIdx.x * length;
  const std::int64_t end = begin + length < args.logits.rows ? begin + length : args.logits.rows;
  double mine = 0;
  for (std::int64_t r = begin + threadIdx.x; r < end; r += kSumThreads) {
    const std::int64_t at = find_row(args.rows, r);
    double loss = 0;
    for (std::int64_t c = 0; c < cols; ++c) {
      const double t = at < 0 ? 0 : args.targets.data[r * args.targets.stride + c];
      const bool labelled = at >= 0 && is_labelled(t);
      const EntryLossHere entry =
          labelled ? Loss::of(args.logits.data[r * args.logits.stride + c], t) : EntryLossHere{};
      loss += entry.loss;
      if (args.dlogits.rows > 0)
        args.dlogits.data[r * args.dlogits.stride + c] = static_cast<float>(entry.slope / count);
    }
    mine += loss;
  }
  const auto share = [count](double sum) { return static_cast<float>(sum / count); };
  join_in_last_block(mine, losses, last, share, args.loss.data);
}

template <class Args>
std::size_t masked_loss_workspace(const Args& /*args*/) {
  return (kLastBlockDoubles + 2 * static_cast<std::size_t>(kMostChunks)) * sizeof(double);
}

template <class Loss, class Args>
void launch_masked_loss(const DeviceContext& context, const Args& args) {
  const LastBlock last{reinterpret_cast<std::uint32_t*>(context.workspace.data)};
  auto* counts = reinterpret_cast<double*>(context.workspace.data) + kLastBlockDoubles;
  double* losses = counts + kMostChunks;
  const auto rows = static_cast<std::int64_t>(args.rows.size);
  const auto known = static_cast<std::int64_t>(args.labelled);
  const std::int64_t entries = known == 0 ? rows * args.targets.cols : 0;
  launch_stretches(context, HasTarget<Args>{args}, entries, counts, last);
  launch(context, losses_of_rows<Loss, Args>, launch_chunks(args.logits.rows), args, counts, entries, known, losses,
         last);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
