// Masked softmax cross-entropy and its gradient, a thread a row. Sums over rows are in f64: a block of fixed size adds
// every 256th term a thread, then its threads' sums by halves.
//
// The workspace holds the sum of the label weights, then the loss of each row of the list.
#include "kernels/cuda/math.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__device__ float weight_of_class(const OnDevice<CrossEntropyArgs>& args, std::int64_t label) {
  return args.class_weights.size == 0 ? 1.0F : args.class_weights.data[label];
}

__global__ void sum_weights(OnDevice<CrossEntropyArgs> args, double* sum) {
  double mine = 0;
  for (std::size_t i = threadIdx.x; i < args.rows.size; i += kSumThreads) {
    const std::int32_t label = args.labels.data[args.rows.data[i]];
    if (label >= 0) mine += static_cast<double>(weight_of_class(args, label));
  }
  const double total = sum_of_block(mine);
  if (threadIdx.x == 0) *sum = total;
}

__global__ void sum_losses(const double* losses, std::int64_t count, const double* weights, float* loss) {
  double mine = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kSumThreads) mine += losses[i];
  const double total = sum_of_block(mine);
  if (threadIdx.x == 0) *loss = *weights > 0 ? static_cast<float>(total / *weights) : 0.0F;
}

/// The weighted loss of a row that counts; writes its gradient. Reads each logit before it writes there.
__device__ double row_loss(const OnDevice<CrossEntropyArgs>& args, std::int64_t r, std::int32_t label, double weights) {
  const std::int64_t classes = args.logits.cols;
  const float* z = args.logits.data + r * args.logits.stride;
  float highest = z[0];
  for (std::int64_t c = 1; c < classes; ++c) highest = z[c] > highest || z[c] != z[c] ? z[c] : highest;
  double exponentials = 0;
  for (std::int64_t c = 0; c < classes; ++c) exponentials += static_cast<double>(edge::exp(z[c] - highest));
  const double log_sum = static_cast<double>(highest) + log_of(exponentials);
  const double even = args.label_smoothing / static_cast<double>(classes);
  double loss = 0;
  double total = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double target =
        static_cast<double>(weight_of_class(args, c)) * ((c == label ? 1 - args.label_smoothing : 0) + even);
    loss += target * (log_sum - static_cast<double>(z[c]));
    total += target;
  }
  if (args.dlogits.rows == 0) return loss;
  float* dz = args.dlogits.data + r * args.dlogits.stride;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double target =
        static_cast<double>(weight_of_class(args, c)) * ((c == label ? 1 - args.label_smoothing : 0) + even);
    const double share = static_cast<double>(edge::exp(z[c] - highest)) / exponentials;
    dz[c] = static_cast<float>((share * total - target) / weights);
  }
  return loss;
}

__global__ void rows_of_loss(OnDevice<CrossEntropyArgs> args, const double* weights, double* losses) {
  for (std::int64_t r = first_item(); r < args.logits.rows; r += item_step()) {
    const std::int64_t at = find_row(args.rows, r);
    const std::int32_t label = at < 0 ? -1 : args.labels.data[r];
    if (label >= 0 && *weights > 0) {
      losses[at] = row_loss(args, r, label, *weights);
      continue;
    }
    if (at >= 0) losses[at] = 0;
    if (args.dlogits.rows == 0) continue;
    for (std::int64_t c = 0; c < args.dlogits.cols; ++c) args.dlogits.data[r * args.dlogits.stride + c] = 0;
  }
}

}  // namespace

std::size_t cross_entropy_workspace(const OnDevice<CrossEntropyArgs>& args) {
  // A plan does not know the rows of the list yet; there are at most as many as logits.
  return (static_cast<std::size_t>(args.logits.rows) + 1) * sizeof(double);
}

void cross_entropy(const DeviceContext& context, const OnDevice<CrossEntropyArgs>& args) {
  auto* weights = reinterpret_cast<double*>(context.workspace.data);
  double* losses = weights + 1;
  launch(context, sum_weights, kOneBlock, args, weights);
  launch(context, rows_of_loss, launch_over(context, args.logits.rows), args, weights, losses);
  launch(context, sum_losses, kOneBlock, losses, static_cast<std::int64_t>(args.rows.size), weights, args.loss.data);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
