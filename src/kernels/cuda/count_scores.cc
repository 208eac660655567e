// Counts of predictions and labels: the class of each row first, then sums of columns (sums.h) of ones, which f64 holds
// exactly.
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// predicted[i]: the first of the largest logits of row rows[i].
__global__ void predict_classes(ConstMatrixView<float, Space::kDevice> logits, DeviceSpan<const NodeId> rows,
                                std::int32_t* predicted) {
  for (std::int64_t i = first_item(); i < static_cast<std::int64_t>(rows.size); i += item_step()) {
    const float* values = logits.data + rows.data[i] * logits.stride;
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < logits.cols; ++c) {
      if (values[best] < values[c]) best = c;
    }
    predicted[i] = static_cast<std::int32_t>(best);
  }
}

inline constexpr int kCounts = 4;

/// A term of one count: 0 hits, 1 predicted, 2 actual, 3 labelled.
__device__ inline double counted(int which, bool predicted, bool actual) {
  if (which == 0) return predicted && actual ? 1 : 0;
  if (which == 1) return predicted ? 1 : 0;
  return which == 3 || actual ? 1 : 0;
}

struct ClassCounts {
  static constexpr int kSums = kCounts;
  OnDevice<CountScoresArgs> args;
  const std::int32_t* predicted;

  __device__ double operator()(int which, std::int64_t i, std::int64_t c) const {
    const std::int32_t actual = args.labels.data[args.rows.data[i]];
    if (actual < 0) return 0;
    if (args.by_class) return counted(which, predicted[i] == c, actual == c);
    return which == 0 && predicted[i] != actual ? 0 : 1;
  }
};

struct TaskCounts {
  static constexpr int kSums = kCounts;
  OnDevice<CountScoresArgs> args;

  __device__ double operator()(int which, std::int64_t i, std::int64_t c) const {
    const std::int64_t row = args.rows.data[i];
    const float target = args.targets.data[row * args.targets.stride + c];
    if (!(target == target)) return 0;
    return counted(which, args.logits.data[row * args.logits.stride + c] > 0, target > 0.5F);
  }
};

std::size_t partials_of(const OnDevice<CountScoresArgs>& args) {
  return partial_sums(static_cast<std::int64_t>(args.rows.size), counted_columns(args), kCounts);
}

}  // namespace

std::size_t count_scores_workspace(const OnDevice<CountScoresArgs>& args) {
  return partials_of(args) * sizeof(double) + args.rows.size * sizeof(std::int32_t);
}

void count_scores(const DeviceContext& context, const OnDevice<CountScoresArgs>& args) {
  const auto rows = static_cast<std::int64_t>(args.rows.size);
  const std::int64_t cols = counted_columns(args);
  auto* partials = reinterpret_cast<double*>(context.workspace.data);
  if (args.targets.cols > 0) {
    launch_row_chunks(context, TaskCounts{args}, rows, cols, partials);
  } else {
    auto* predicted = reinterpret_cast<std::int32_t*>(partials + partials_of(args));
    launch(context, predict_classes, launch_over(context, rows), args.logits, args.rows, predicted);
    launch_row_chunks(context, ClassCounts{args, predicted}, rows, cols, partials);
  }
  launch(context, join_to_doubles, launch_joins<double>(kCounts * cols), partials, row_chunks(rows), kCounts * cols,
         1.0, args.counts.data);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
