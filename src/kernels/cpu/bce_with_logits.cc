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

struct Entries {
  Vector loss;
  Vector slope;
};

/// Losses of a vector of entries, and their gradients but for the number of labelled entries.
HWY_INLINE Entries entries_loss(Vector z, Vector t) {
  const Tag d;
  const auto one = hn::Set(d, 1.0F);
  const auto small = without_subnormals(hn::Exp(d, hn::Neg(hn::Abs(z))));
  const auto loss = hn::Add(hn::Log1p(d, small), hn::Sub(hn::Max(z, hn::Zero(d)), hn::Mul(z, t)));
  // sigmoid(z) from exp(-|z|): 1 / (1 + e) for z >= 0, e / (1 + e) below.
  const auto upper = hn::Div(one, hn::Add(one, small));
  const auto probability = hn::IfThenElse(hn::Ge(z, hn::Zero(d)), upper, hn::Mul(small, upper));
  const auto unlabelled = hn::IsNaN(t);
  const auto undefined = hn::IsNaN(z);
  return {hn::IfThenZeroElse(unlabelled, hn::IfThenElse(undefined, z, loss)),
          hn::IfThenZeroElse(unlabelled, hn::IfThenElse(undefined, z, hn::Sub(probability, t)))};
}

/// Writes the gradients of a row, if they are wanted, and returns the sum of its losses: one f32 sum a lane, added up in
/// f64. t: its targets.
double row_loss(const BceWithLogitsArgs<float>& args, std::int64_t r, const float* t, float inverse_count) {
  const Tag d;
  const std::int64_t classes = args.logits.cols;
  const float* z = args.logits.row(r);
  float* dz = args.dlogits.rows > 0 ? args.dlogits.row(r) : nullptr;
  const auto scale = hn::Set(d, inverse_count);
  auto sum = hn::Zero(d);
  std::int64_t c = 0;
  for (; c + kLanes <= classes; c += kLanes) {
    const Entries entries = entries_loss(hn::LoadU(d, z + c), hn::LoadU(d, t + c));
    sum = hn::Add(sum, entries.loss);
    if (dz != nullptr) hn::StoreU(without_subnormals(hn::Mul(entries.slope, scale)), d, dz + c);
  }
  if (c < classes) {
    const std::int64_t rest = classes - c;
    const auto there = hn::FirstN(d, static_cast<std::size_t>(rest));
    const auto targets = hn::IfThenElse(there, load_first(t + c, rest), hn::Set(d, std::nanf("")));
    const Entries entries = entries_loss(load_first(z + c, rest), targets);
    sum = hn::Add(sum, entries.loss);
    if (dz != nullptr) store_first(without_subnormals(hn::Mul(entries.slope, scale)), dz + c, rest);
  }
  alignas(64) float lanes[kLanes];
  hn::Store(sum, d, lanes);
  double total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

double loss_rows(const BceWithLogitsArgs<float>& args, std::int64_t first, std::int64_t rows, double count) {
  const auto inverse = static_cast<float>(1 / count);
  double loss = 0;
  auto next = std::lower_bound(args.rows.begin(), args.rows.end(), first);
  for (std::int64_t r = 0; r < rows; ++r) {
    if (next == args.rows.end() || *next != first + r) {
      if (args.dlogits.rows > 0) std::fill_n(args.dlogits.row(r), args.dlogits.cols, 0.0F);
      continue;
    }
    ++next;
    loss += row_loss(args, r, args.targets.row(first + r), inverse);
  }
  return loss;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(loss_rows);

namespace {

double loss_of(const BceWithLogitsArgs<float>& args, std::int64_t first, std::int64_t rows, double count) {
  return HWY_DYNAMIC_DISPATCH(loss_rows)(args, first, rows, count);
}

}  // namespace

void bce_with_logits(const Context& context, const BceWithLogitsArgs<float>& args) {
  masked_loss<BceWithLogitsArgs<float>, loss_of>(context, args);
}

BandKernel<BceWithLogitsArgs<float>> bce_with_logits_bands(const BceWithLogitsArgs<float>& args) {
  return masked_loss_bands<BceWithLogitsArgs<float>, loss_of>(args);
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
