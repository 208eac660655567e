// Counts of predictions and labels in two launches: the class of each row first, then sums of columns (sums.h) of ones,
// which f64 holds exactly; the last block joins them.
#include "kernels/cuda/ops.h"
#include "kernels/cuda/sums.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

/// predicted[i]: the first of the largest logits of row rows[i]. Without `predicted` only the counter is set back.
__global__ void predict_classes(ConstMatrixView<float, Space::kDevice> logits, DeviceSpan<const NodeId> rows,
                                std::int32_t* predicted, LastBlock next) {
  next.reset();
  if (predicted == nullptr) return;
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

template <class Term>
__global__ void count_rows(Term term, std::int64_t rows, std::int64_t cols, std::int64_t panels, double* partials,
                           LastBlock last, double* counts) {
  sum_row_chunk(term, rows, cols, panels, partials);
  if (!last.is_here()) return;
  const volatile double* const of_chunks = partials;
  const std::int64_t width = kCounts * cols;
  for (std::int64_t i = threadIdx.x; i < width; i += kSumThreads) {
    double sum = 0;
    for (std::int64_t chunk = 0; chunk < some_chunks(rows); ++chunk) sum += of_chunks[chunk * width + i];
    counts[i] = sum;
  }
}

template <class Term>
void launch_counts(const DeviceContext& context, const Term& term, const OnDevice<CountScoresArgs>& args,
                   std::int64_t cols, double* partials, LastBlock last) {
  const auto rows = static_cast<std::int64_t>(args.rows.size);
  launch(context, count_rows<Term>, launch_panels(some_chunks(rows), cols, kCounts), term, rows, cols, panels_of(cols),
         partials, last, args.counts.data);
}

std::size_t partials_of(const OnDevice<CountScoresArgs>& args) {
  const auto rows = static_cast<std::int64_t>(args.rows.size);
  return static_cast<std::size_t>(some_chunks(rows) * counted_columns(args) * kCounts);
}

}  // namespace

std::size_t count_scores_workspace(const OnDevice<CountScoresArgs>& args) {
  return (kLastBlockDoubles + partials_of(args)) * sizeof(double) + args.rows.size * sizeof(std::int32_t);
}

void count_scores(const DeviceContext& context, const OnDevice<CountScoresArgs>& args) {
  const std::int64_t cols = counted_columns(args);
  const LastBlock last{reinterpret_cast<std::uint32_t*>(context.workspace.data)};
  auto* partials = reinterpret_cast<double*>(context.workspace.data) + kLastBlockDoubles;
  if (args.targets.cols > 0) {
    launch(context, predict_classes, Launch{1, 32, 0}, args.logits, args.rows, nullptr, last);
    return launch_counts(context, TaskCounts{args}, args, cols, partials, last);
  }
  auto* predicted = reinterpret_cast<std::int32_t*>(partials + partials_of(args));
  launch(context, predict_classes, launch_over(context, static_cast<std::int64_t>(args.rows.size)), args.logits,
         args.rows, predicted, last);
  launch_counts(context, ClassCounts{args, predicted}, args, cols, partials, last);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
