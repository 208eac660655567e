// Multilabel binary cross-entropy on vectors: the loss and its gradient share exp(-|z|).
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/masked_loss.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/bce_with_logits.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

/// Writes the gradients of up to kLanes entries and returns the sum of their losses.
double entries_loss(std::int64_t count, const float* z_in, const float* t_in, float inverse_count, float* dz) {
  const Tag d;
  alignas(64) float z_lanes[kLanes] = {};
  alignas(64) float t_lanes[kLanes];
  alignas(64) float losses[kLanes];
  std::fill_n(t_lanes, kLanes, std::nanf(""));
  std::copy_n(z_in, count, z_lanes);
  std::copy_n(t_in, count, t_lanes);
  const auto z = hn::Load(d, z_lanes);
  const auto t = hn::Load(d, t_lanes);
  const auto one = hn::Set(d, 1.0F);
  const auto small = hn::Exp(d, hn::Neg(hn::Abs(z)));
  const auto loss = hn::Add(hn::Log1p(d, small), hn::Sub(hn::Max(z, hn::Zero(d)), hn::Mul(z, t)));
  // sigmoid(z) from exp(-|z|): 1 / (1 + e) for z >= 0, e / (1 + e) below.
  const auto upper = hn::Div(one, hn::Add(one, small));
  const auto probability = hn::IfThenElse(hn::Ge(z, hn::Zero(d)), upper, hn::Mul(small, upper));
  const auto unlabelled = hn::IsNaN(t);
  const auto slope = hn::Mul(hn::Sub(probability, t), hn::Set(d, inverse_count));
  hn::Store(hn::IfThenZeroElse(unlabelled, hn::IfThenElse(hn::IsNaN(z), z, slope)), d, z_lanes);
  hn::Store(hn::IfThenZeroElse(unlabelled, hn::IfThenElse(hn::IsNaN(z), z, loss)), d, losses);
  std::copy_n(z_lanes, count, dz);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += losses[i];
  return sum;
}

double loss_chunk(const BceWithLogitsArgs<float>& args, std::int64_t begin, std::int64_t end, double count) {
  const auto inverse = static_cast<float>(1 / count);
  double loss = 0;
  auto next = std::lower_bound(args.rows.begin(), args.rows.end(), begin);
  for (std::int64_t r = begin; r < end; ++r) {
    if (next == args.rows.end() || *next != r) {
      std::fill_n(args.dlogits.row(r), args.dlogits.cols, 0.0F);
      continue;
    }
    ++next;
    for (std::int64_t c = 0; c < args.logits.cols; c += kLanes) {
      loss += entries_loss(std::min(kLanes, args.logits.cols - c), args.logits.row(r) + c, args.targets.row(r) + c,
                           inverse, args.dlogits.row(r) + c);
    }
  }
  return loss;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(loss_chunk);

void bce_with_logits(const Context& context, const BceWithLogitsArgs<float>& args) {
  masked_loss(context, args, [&](std::int64_t begin, std::int64_t end, double count) {
    return HWY_DYNAMIC_DISPATCH(loss_chunk)(args, begin, end, count);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
