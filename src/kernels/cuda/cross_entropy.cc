// Masked softmax cross-entropy and its gradient in two launches: partial sums of the label weights; then every block
// joins these, takes its chunk of rows, and the last one joins their losses. The lanes of a row share its classes. Sums
// over classes and rows are in f64 (sums.h).
//
// The workspace holds the counter of blocks and the partial sums of the two.
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

/// A block a chunk of rows. `weights`: partial sums of those of `count` listed rows.
__global__ void rows_of_loss(OnDevice<CrossEntropyArgs> args, const double* weights, std::int64_t count, double* losses,
                             LastBlock last, int lanes) {
  const double weight = join_stretches(weights, count);
  const std::int64_t rows = args.logits.rows;
  const bool all_rows = count == rows;
  const std::int64_t length = rows_of_chunk(rows);
  const std::int64_t begin = blockIdx.x * length;
  const std::int64_t end = begin + length < rows ? begin + length : rows;
  const std::int64_t together = kSumThreads / lanes;
  const auto lane = static_cast<int>(threadIdx.x % lanes);
  double mine = 0;
  for (std::int64_t first = begin; first < end; first += together) {
    // Lanes beyond the last row do what those of that row do, and write nothing.
    const std::int64_t asked = first + threadIdx.x / lanes;
    const std::int64_t r = asked < end ? asked : end - 1;
    const std::int64_t at = all_rows ? r : find_row(args.rows, r);
    const std::int32_t label = at < 0 ? -1 : args.labels.data[r];
    const bool counts = label >= 0 && weight > 0;
    OnDevice<CrossEntropyArgs> own = args;
    if (asked >= end) own.dlogits.rows = 0;
    const double loss = row_loss(own, r, label, counts, weight, lane, lanes);
    if (asked < end && lane == 0 && counts) mine += loss;
  }
  const auto share = [weight](double sum) { return weight > 0 ? static_cast<float>(sum / weight) : 0.0F; };
  join_in_last_block(mine, losses, last, share, args.loss.data);
}

}  // namespace

std::size_t cross_entropy_workspace(const OnDevice<CrossEntropyArgs>& /*args*/) {
  return (kLastBlockDoubles + 2 * static_cast<std::size_t>(kMostChunks)) * sizeof(double);
}

void cross_entropy(const DeviceContext& context, const OnDevice<CrossEntropyArgs>& args) {
  const LastBlock last{reinterpret_cast<std::uint32_t*>(context.workspace.data)};
  auto* weights = reinterpret_cast<double*>(context.workspace.data) + kLastBlockDoubles;
  double* losses = weights + kMostChunks;
  const auto count = static_cast<std::int64_t>(args.rows.size);
  constexpr std::int64_t kClassesOfLane = 8;
  const int lanes = lanes_for((args.logits.cols + kClassesOfLane - 1) / kClassesOfLane);
  launch_stretches(context, LabelWeight{args}, count, weights, last);
  launch(context, rows_of_loss, launch_chunks(args.logits.rows), args, weights, count, losses, last, lanes);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
