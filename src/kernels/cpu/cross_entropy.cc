// Masked softmax cross-entropy on the CPU: chunks of counted rows, exponentials on vectors, sums in f64.
//
// Formulas: reference/cross_entropy.cc. A chunk is a range of nodes, so that rows outside the list are cleared in the
// same sweep; its part of the loss goes to the workspace and the parts are added in order.
#include <cmath>

#include "kernels/chunks.h"
#include "kernels/band_views.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cross_entropy.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

float highest_of(std::int64_t length, const float* z) {
  const Tag d;
  if (length < kLanes) return *std::max_element(z, z + length);
  Vector highest = hn::LoadU(d, z + length - kLanes);
  for (std::int64_t i = 0; i + kLanes <= length; i += kLanes) highest = hn::Max(highest, hn::LoadU(d, z + i));
  return hn::GetLane(hn::MaxOfLanes(d, highest));
}

double sum_of(std::int64_t length, const float* x) {
  const hn::Repartition<double, Tag> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  auto sums = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + step <= length; i += step) sums = hn::Add(sums, hn::PromoteTo(d, hn::LoadU(narrow, x + i)));
  double sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < length; ++i) sum += x[i];
  return sum;
}

/// exp(x - highest) without subnormal numbers, which are slow in all that follows.
struct Exponential {
  Vector highest;
  HWY_INLINE Vector operator()(Vector x) const { return without_subnormals(exp_of_score(hn::Sub(x, highest))); }
};

struct Times {
  Vector factor;
  HWY_INLINE Vector operator()(Vector x) const { return without_subnormals(hn::Mul(x, factor)); }
};

/// A sum of losses. Logarithms of weight 1 are added up as that of a product, as long as that is a number: every factor is at least 1.
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

/// Adds the weighted loss of row r, whose node has that label; writes its gradient, if that is wanted (it may lie over the logits).
void add_row(const CrossEntropyArgs<float>& args, std::int64_t r, std::int32_t label, double weights, LossSum* loss) {
  const std::int64_t classes = args.logits.cols;
  const float* z = args.logits.row(r);
  float* dz = args.dlogits.rows > 0 ? args.dlogits.row(r) : nullptr;
  const double spread = args.label_smoothing / static_cast<double>(classes);
  const auto weight = [&](std::int64_t c) {
    return args.class_weights.empty() ? 1.0 : static_cast<double>(args.class_weights[static_cast<std::size_t>(c)]);
  };
  const double hit = weight(label) * (1 - args.label_smoothing);
  double total = hit;
  double product = hit * z[label];
  const float highest = highest_of(classes, z);
  for (std::int64_t c = 0; spread > 0 && c < classes; ++c) {
    total += weight(c) * spread;
    product += weight(c) * spread * z[c];
  }
  constexpr std::int64_t kBlock = 512;
  float unwanted[kBlock];
  double exponentials = 0;
  for (std::int64_t begin = 0; begin < classes; begin += kBlock) {
    const std::int64_t length = std::min(kBlock, classes - begin);
    float* to = dz != nullptr ? dz + begin : unwanted;
    transform_run(length, z + begin, to, Exponential{hn::Set(Tag(), highest)});
    exponentials += sum_of(length, to);
  }
  loss->add(total * highest - product);
  loss->add_log(total, exponentials);
  if (dz == nullptr) return;
  const auto scale = static_cast<float>(total / (exponentials * weights));
  transform_run(classes, dz, dz, Times{hn::Set(Tag(), scale)});
  for (std::int64_t c = 0; spread > 0 && c < classes; ++c) dz[c] -= static_cast<float>(weight(c) * spread / weights);
  dz[label] -= static_cast<float>(hit / weights);
}

/// `args` has the logits and gradients of `count` nodes from `first` on.
double loss_chunk(const CrossEntropyArgs<float>& args, double weights, std::int64_t first, std::int64_t count) {
  LossSum loss;
  auto next = std::lower_bound(args.rows.begin(), args.rows.end(), first);
  for (std::int64_t r = 0; r < count; ++r) {
    const bool listed = next != args.rows.end() && *next == first + r;
    if (listed) ++next;
    const std::int32_t label = args.labels[static_cast<std::size_t>(first + r)];
    if (listed && label >= 0 && weights > 0) {
      add_row(args, r, label, weights, &loss);
    } else if (args.dlogits.rows > 0) {
      std::fill_n(args.dlogits.row(r), args.dlogits.cols, 0.0F);
    }
  }
  return loss.total();
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
    partials[begin / grain] = HWY_DYNAMIC_DISPATCH(loss_chunk)(band_of(args, {.begin = begin, .end = end}), weights, begin, end - begin);
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
