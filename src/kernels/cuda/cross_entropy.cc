// Masked softmax cross-entropy and its gradient: the lanes of a row share its classes. Sums over classes and rows are
// in f64 (sums.h).
//
// The workspace holds the sum of the label weights, the partial sums of one sum over rows at a time, then the loss of
// each row of the list.
#include <limits>

#include "kernels/cuda/math.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__device__ float weight_of_class(const OnDevice<CrossEntropyArgs>& args, std::int64_t label) {
  return args.class_weights.size == 0 ? 1.0F : args.class_weights.data[label];
}

struct LabelWeight {
  OnDevice<CrossEntropyArgs> args;

  __device__ double operator()(std::int64_t i) const {
    const std::int32_t label = args.labels.data[args.rows.data[i]];
    return label >= 0 ? static_cast<double>(weight_of_class(args, label)) : 0;
  }
};

struct KeptLoss {
  const double* losses;

  __device__ double operator()(std::int64_t i) const { return losses[i]; }
};

__global__ void join_weights(const double* partials, std::int64_t count, double* weights) {
  const double total = join_stretches(partials, count);
  if (threadIdx.x == 0) *weights = total;
}

__global__ void join_losses(const double* partials, std::int64_t count, const double* weights, float* loss) {
  const double total = join_stretches(partials, count);
  if (threadIdx.x == 0) *loss = *weights > 0 ? static_cast<float>(total / *weights) : 0.0F;
}

/// The highest over `lanes` lanes; NaN where one has it.
__device__ float highest_of_lanes(float mine, int lanes) {
  for (int bits = lanes / 2; bits > 0; bits /= 2) {
    const float other = __shfl_xor_sync(~0U, mine, bits);
    mine = other > mine || other != other ? other : mine;
  }
  return mine;
}

/// The weighted loss of row r, whose lanes all come here; writes its gradient. A lane reads its logits before it writes
/// there. `counts`: the row has a loss; else its gradient is 0.
__device__ double row_loss(const OnDevice<CrossEntropyArgs>& args, std::int64_t r, std::int32_t label, bool counts,
                           double weights, int lane, int lanes) {
  const std::int64_t classes = args.logits.cols;
  const std::int64_t end = counts ? classes : 0;
  const float* z = args.logits.data + r * args.logits.stride;
  float highest = -std::numeric_limits<float>::infinity();
  for (std::int64_t c = lane; c < end; c += lanes) highest = z[c] > highest || z[c] != z[c] ? z[c] : highest;
  highest = highest_of_lanes(highest, lanes);
  double exponentials = 0;
  for (std::int64_t c = lane; c < end; c += lanes) exponentials += static_cast<double>(edge::exp(z[c] - highest));
  exponentials = sum_of_lanes(exponentials, lanes);
  const double log_sum = static_cast<double>(highest) + log_of(exponentials);
  const double even = args.label_smoothing / static_cast<double>(classes);
  const auto target_of = [&](std::int64_t c) {
    return static_cast<double>(weight_of_class(args, c)) * ((c == label ? 1 - args.label_smoothing : 0) + even);
  };
  double loss = 0;
  double total = 0;
  for (std::int64_t c = lane; c < end; c += lanes) {
    const double target = target_of(c);
    if (target != 0) loss += target * (log_sum - static_cast<double>(z[c]));
    total += target;
  }
  loss = sum_of_lanes(loss, lanes);
  total = sum_of_lanes(total, lanes);
  if (args.dlogits.rows == 0) return loss;
  float* dz = args.dlogits.data + r * args.dlogits.stride;
  for (std::int64_t c = lane; c < classes; c += lanes) {
    if (!counts) {
      dz[c] = 0;
      continue;
    }
    const double share = static_cast<double>(edge::exp(z[c] - highest)) / exponentials;
    dz[c] = static_cast<float>((share * total - target_of(c)) / weights);
  }
  return loss;
}

__global__ void rows_of_loss(OnDevice<CrossEntropyArgs> args, const double* weights, double* losses, int lanes) {
  const std::int64_t rows = args.logits.rows;
  const bool all_rows = static_cast<std::int64_t>(args.rows.size) == rows;
  // Lanes beyond the last row take part in the exchanges of lanes, by whole warps.
  const std::int64_t padded = (rows * lanes + 31) / 32 * 32;
  for (std::int64_t i = first_item(); i < padded; i += item_step()) {
    const std::int64_t r = i / lanes < rows ? i / lanes : rows - 1;
    const auto lane = static_cast<int>(i % lanes);
    const std::int64_t at = all_rows ? r : find_row(args.rows, r);
    const std::int32_t label = at < 0 ? -1 : args.labels.data[r];
    const bool counts = label >= 0 && *weights > 0;
    // The lanes beyond the last row do what those of the last row do, but write nothing.
    OnDevice<CrossEntropyArgs> own = args;
    if (i / lanes >= rows) own.dlogits.rows = 0;
    const double loss = row_loss(own, r, label, counts, *weights, lane, lanes);
    if (at >= 0 && lane == 0 && i / lanes < rows) losses[at] = counts ? loss : 0;
  }
}

}  // namespace

std::size_t cross_entropy_workspace(const OnDevice<CrossEntropyArgs>& args) {
  // A plan does not know the rows of the list yet; there are at most as many as logits.
  return static_cast<std::size_t>(1 + kMostChunks + args.logits.rows) * sizeof(double);
}

void cross_entropy(const DeviceContext& context, const OnDevice<CrossEntropyArgs>& args) {
  auto* weights = reinterpret_cast<double*>(context.workspace.data);
  double* partials = weights + 1;
  double* losses = partials + kMostChunks;
  const auto count = static_cast<std::int64_t>(args.rows.size);
  constexpr std::int64_t kClassesOfLane = 8;
  const int lanes = lanes_for((args.logits.cols + kClassesOfLane - 1) / kClassesOfLane);
  launch_stretches(context, LabelWeight{args}, count, partials);
  launch(context, join_weights, kOneBlock, partials, count, weights);
  launch(context, rows_of_loss, launch_over(context, args.logits.rows * lanes), args, weights, losses, lanes);
  launch_stretches(context, KeptLoss{losses}, count, partials);
  launch(context, join_losses, kOneBlock, partials, count, weights, args.loss.data);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
