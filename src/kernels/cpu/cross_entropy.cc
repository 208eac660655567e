// Masked softmax cross-entropy on the CPU: chunks of counted rows, exponentials on vectors, sums in f64.
//
// Formulas: reference/cross_entropy.cc. A chunk is a range of nodes, so that rows outside the list are cleared in the
// same sweep; its part of the loss goes to the workspace and the parts are added in order.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "kernels/band_views.h"
#include "kernels/chunks.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cross_entropy.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/wide_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

float highest_of(std::int64_t length, const float* z) {
  const Tag d;
  if (length < kLanes) {
    const auto listed = hn::FirstN(d, static_cast<std::size_t>(length));
    return hn::GetLane(hn::MaxOfLanes(d, hn::IfThenElse(listed, load_first(z, length), hn::Set(d, *z))));
  }
  Vector highest = hn::LoadU(d, z + length - kLanes);
  for (std::int64_t i = 0; i + kLanes <= length; i += kLanes) highest = hn::Max(highest, hn::LoadU(d, z + i));
  return hn::GetLane(hn::MaxOfLanes(d, highest));
}

/// exp(x - highest) without subnormal numbers, which are slow in all that follows.
struct Exponential {
  Vector highest;
  HWY_INLINE Vector operator()(Vector x) const { return without_subnormals(exp_of_score(hn::Sub(x, highest))); }
};

/// A sum of losses. Logarithms of weight 1 are added up as that of a product, as long as that is a number: every factor
/// is at least 1.
class LossSum {
 public:
  void add(double value) { sum_ += value; }
  void add_log(double weight, double x) {
    constexpr double kLarge = 1e250;
    if (weight != 1) return add(weight * std::log(x));
    product_ *= x;
    if (product_ <= kLarge) return;
    sum_ += std::log(product_);
    product_ = 1;
  }
  double total() const { return sum_ + std::log(product_); }

 private:
  double sum_ = 0;
  double product_ = 1;
};

/// Losses and gradients of counted rows, some at a time step by step: a row alone is a chain of operations from its
/// highest logit to its gradient, at each of which a processor would wait.
class CountedRows {
 public:
  CountedRows(const CrossEntropyArgs<float>& args, double weights)
      : args_(args),
        weights_(weights),
        classes_(args.logits.cols),
        spread_(args.label_smoothing / static_cast<double>(classes_)) {}

  /// Adds the weighted loss of row r, whose node has that label; writes its gradient, if that is wanted (it may lie
  /// over the logits).
  void add(std::int64_t r, std::int32_t label) {
    rows_[count_++] = {args_.logits.row(r), args_.dlogits.rows > 0 ? args_.dlogits.row(r) : nullptr, label};
    if (count_ == kMost) finish();
  }

  /// The sum of all losses.
  double total() {
    finish();
    return loss_.total();
  }

 private:
  static constexpr std::size_t kMost = 8;
  static constexpr std::int64_t kMostKept = 256;  ///< exponentials of a row that are kept aside

  struct Row {
    const float* z = nullptr;
    float* dz = nullptr;  ///< or null
    std::int32_t label = 0;
    float highest = 0;
    double total = 0;         ///< of the weights of the classes
    double product = 0;       ///< of those and the logits
    double exponentials = 0;  ///< their sum
  };

  void finish() {
    const std::span<Row> rows(rows_.data(), count_);
    alignas(64) float kept[kMost * kMostKept];
    for (Row& row : rows) weigh(row);
    for (std::size_t i = 0; i < count_; ++i) exponentiate(rows[i], kept + i * kMostKept);
    for (std::size_t i = 0; i < count_; ++i) write(rows[i], kept + i * kMostKept);
    count_ = 0;
  }

  double weight(std::int64_t c) const {
    return args_.class_weights.empty() ? 1.0 : static_cast<double>(args_.class_weights[static_cast<std::size_t>(c)]);
  }
  double hit(const Row& row) const { return weight(row.label) * (1 - args_.label_smoothing); }

  HWY_INLINE void weigh(Row& row) const {
    row.total = hit(row);
    row.product = row.total * row.z[row.label];
    row.highest = highest_of(classes_, row.z);
    for (std::int64_t c = 0; spread_ > 0 && c < classes_; ++c) {
      row.total += weight(c) * spread_;
      row.product += weight(c) * spread_ * row.z[c];
    }
  }

  bool keeps() const { return classes_ <= kMostKept; }

  /// The exponentials go to `kept`, whole vectors of them, until gradients are written: where rows of logits become
  /// those of gradients, the masked store of one row's end makes the load of the next row's start wait until it is
  /// through. Rows of more classes have few such ends: theirs go where the gradient will be.
  HWY_INLINE void exponentiate(Row& row, float* kept) const {
    const Exponential fn{hn::Set(Tag(), row.highest)};
    WideSum sum;
    float* to = keeps() ? kept : row.dz;
    std::int64_t c = 0;
    for (; c + kLanes <= classes_; c += kLanes) {
      const Vector value = fn(hn::LoadU(Tag(), row.z + c));
      if (to != nullptr) hn::StoreU(value, Tag(), to + c);
      sum.add(value);
    }
    if (const std::int64_t left = classes_ - c; left > 0) {
      const Vector value =
          hn::IfThenElseZero(hn::FirstN(Tag(), static_cast<std::size_t>(left)), fn(load_first(row.z + c, left)));
      if (keeps()) {
        hn::StoreU(value, Tag(), to + c);
      } else if (to != nullptr) {
        store_first(value, to + c, left);
      }
      sum.add(value);
    }
    row.exponentials = sum.total();
  }

  HWY_INLINE void write(const Row& row, const float* kept) {
    loss_.add(row.total * row.highest - row.product);
    loss_.add_log(row.total, row.exponentials);
    float* dz = row.dz;
    if (dz == nullptr) return;
    const Vector scale = hn::Set(Tag(), static_cast<float>(row.total / (row.exponentials * weights_)));
    const Vector label_hit = hn::Set(Tag(), static_cast<float>(hit(row) / weights_));
    const auto lanes = hn::Iota(hn::RebindToSigned<Tag>(), 0);  // GCC makes any but a constant one lane by lane
    const auto gradient = [&](std::int64_t c, Vector value) HWY_ATTR {
      const auto labelled = hn::Eq(lanes, hn::Set(hn::RebindToSigned<Tag>(), row.label - static_cast<std::int32_t>(c)));
      return hn::Sub(without_subnormals(hn::Mul(value, scale)),
                     hn::IfThenElseZero(hn::RebindMask(Tag(), labelled), label_hit));
    };
    const float* from = keeps() ? kept : dz;
    std::int64_t c = 0;
    for (; c + kLanes <= classes_; c += kLanes) hn::StoreU(gradient(c, hn::LoadU(Tag(), from + c)), Tag(), dz + c);
    if (const std::int64_t left = classes_ - c; left > 0)
      store_first(gradient(c, load_first(from + c, left)), dz + c, left);
    for (c = 0; spread_ > 0 && c < classes_; ++c) dz[c] -= static_cast<float>(weight(c) * spread_ / weights_);
  }

  const CrossEntropyArgs<float>& args_;
  double weights_;
  std::int64_t classes_;
  double spread_;
  LossSum loss_;
  std::array<Row, kMost> rows_;
  std::size_t count_ = 0;
};

/// `args` has the logits and gradients of `count` nodes from `first` on.
double loss_chunk(const CrossEntropyArgs<float>& args, double weights, std::int64_t first, std::int64_t count) {
  CountedRows rows(args, weights);
  auto next = std::lower_bound(args.rows.begin(), args.rows.end(), first);
  for (std::int64_t r = 0; r < count; ++r) {
    const bool listed = next != args.rows.end() && *next == first + r;
    if (listed) ++next;
    const std::int32_t label = args.labels[static_cast<std::size_t>(first + r)];
    if (listed && label >= 0 && weights > 0) {
      rows.add(r, label);
    } else if (args.dlogits.rows > 0) {
      std::fill_n(args.dlogits.row(r), args.dlogits.cols, 0.0F);
    }
  }
  return rows.total();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

namespace {

HWY_EXPORT(loss_chunk);

/// What the mean divides by.
double sum_of_weights(const CrossEntropyArgs<float>& args) {
  double weights = 0;
  for (const NodeId row : args.rows) {
    const std::int32_t label = args.labels[static_cast<std::size_t>(row)];
    if (label < 0) continue;
    weights +=
        args.class_weights.empty() ? 1.0 : static_cast<double>(args.class_weights[static_cast<std::size_t>(label)]);
  }
  return weights;
}

void add_partials(const CrossEntropyArgs<float>& args, double weights, const double* partials, std::int64_t count) {
  double loss = 0;
  for (std::int64_t i = 0; i < count; ++i) loss += partials[i];
  args.loss.at(0, 0) = static_cast<float>(weights > 0 ? loss / weights : 0);
}

}  // namespace

void cross_entropy(const Context& context, const CrossEntropyArgs<float>& args) {
  const double weights = sum_of_weights(args);
  const std::int64_t n = args.logits.rows;
  const std::int64_t grain = reduction_grain(n);
  auto* partials = reinterpret_cast<double*>(context.workspace.data());
  parallel_chunks(context.threads, n, grain, [&](std::int64_t begin, std::int64_t end) {
    partials[begin / grain] =
        HWY_DYNAMIC_DISPATCH(loss_chunk)(band_of(args, {.begin = begin, .end = end}), weights, begin, end - begin);
  });
  add_partials(args, weights, partials, num_chunks(n, grain));
}

BandKernel<CrossEntropyArgs<float>> cross_entropy_bands(const CrossEntropyArgs<float>&) {
  BandKernel<CrossEntropyArgs<float>> kernel;
  kernel.shared_bytes = sizeof(double);  // the sum of weights
  kernel.task_bytes = sizeof(double);
  kernel.prepare = [](const Context& context, const CrossEntropyArgs<float>& args) {
    *reinterpret_cast<double*>(context.workspace.data()) = sum_of_weights(args);
  };
  kernel.run = [](const Context& context, const CrossEntropyArgs<float>& args, const Band& band) {
    const double weights = *reinterpret_cast<const double*>(context.workspace.data());
    double* loss = task_partial<double>(context, cross_entropy_bands(args), band.task);
    if (band.first()) *loss = 0;
    *loss += HWY_DYNAMIC_DISPATCH(loss_chunk)(band_of(args, band), weights, band.begin, band.end - band.begin);
  };
  kernel.finish = [](const Context& context, const CrossEntropyArgs<float>& args, std::int64_t tasks) {
    const double weights = *reinterpret_cast<const double*>(context.workspace.data());
    add_partials(args, weights, task_partial<double>(context, cross_entropy_bands(args), 0), tasks);
  };
  return kernel;
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
