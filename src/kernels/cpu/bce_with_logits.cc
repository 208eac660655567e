// Multilabel binary cross-entropy on vectors: the loss and its gradient share exp(-|z|); logarithms are those of
// products.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/masked_loss.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/bce_with_logits.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/exp-inl.h"
#include "kernels/cpu/wide_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

struct Entries {
  Vector small;  ///< exp(-|z|); the loss is log(1 + small) + linear
  Vector linear;
  Vector slope;
};

/// Parts of the losses of a vector of entries, and their gradients but for the number of labelled entries; zeros where
/// t is NaN.
HWY_INLINE Entries entries_of(Vector z, Vector t) {
  const Tag d;
  const Vector one = hn::Set(d, 1.0F);
  const Vector small = without_subnormals(exp_of_score(hn::Neg(hn::Abs(z))));
  // sigmoid(z) from exp(-|z|): 1 / (1 + e) for z >= 0, e / (1 + e) below.
  const auto is_upper = hn::Ge(z, hn::Zero(d));
  const Vector probability = hn::Div(hn::IfThenElse(is_upper, one, small), hn::Add(one, small));
  const auto unlabelled = hn::IsNaN(t);
  return {hn::IfThenZeroElse(unlabelled, small),
          hn::IfThenZeroElse(unlabelled, hn::NegMulAdd(z, t, hn::IfThenElseZero(is_upper, z))),
          hn::IfThenZeroElse(unlabelled, hn::Sub(probability, t))};
}

/// Losses and gradients of rows, one after another.
class LossRows {
 public:
  LossRows(const BceWithLogitsArgs<float>& args, double labelled)
      : args_(args), scale_(hn::Set(Tag(), static_cast<float>(1 / labelled))), classes_(args.logits.cols) {}

  /// Adds the losses of row r, and writes its gradients, if they are wanted (they may lie over the logits). t: its
  /// targets.
  void add(std::int64_t r, const float* t) {
    const float* z = args_.logits.row(r);
    float* dz = args_.dlogits.rows > 0 ? args_.dlogits.row(r) : nullptr;
    if (classes_ < kLanes) {
      const auto there = hn::FirstN(Tag(), static_cast<std::size_t>(classes_));
      const Vector targets = hn::IfThenElse(there, load_first(t, classes_), hn::Set(Tag(), std::nanf("")));
      const Vector slope = add(load_first(z, classes_), targets);
      if (dz != nullptr) store_first(slope, dz, classes_);
      return;
    }
    // The last vector of a row starts among the entries of the one before, which do not count again: a masked store
    // there would make the load of the next row's start wait until it is through.
    const std::int64_t last = classes_ - kLanes;
    const Vector last_z = hn::LoadU(Tag(), z + last);
    std::int64_t c = 0;
    for (; c <= last; c += kLanes) {
      const Vector slope = add(hn::LoadU(Tag(), z + c), hn::LoadU(Tag(), t + c));
      if (dz != nullptr) hn::StoreU(slope, Tag(), dz + c);
    }
    if (c == classes_) return;
    const Entries entries = entries_of(last_z, hn::LoadU(Tag(), t + last));
    const auto counted = hn::FirstN(Tag(), static_cast<std::size_t>(c - last));
    logs_.add(hn::IfThenZeroElse(counted, entries.small));
    linear_.add(hn::IfThenZeroElse(counted, entries.linear));
    if (dz != nullptr) hn::StoreU(scaled(entries.slope), Tag(), dz + last);
  }

  double total() { return logs_.total() + linear_.total(); }

 private:
  HWY_INLINE Vector scaled(Vector slope) const { return without_subnormals(hn::Mul(slope, scale_)); }

  /// Adds the losses of a vector of entries; their gradients.
  HWY_INLINE Vector add(Vector z, Vector t) {
    const Entries entries = entries_of(z, t);
    logs_.add(entries.small);
    linear_.add(entries.linear);
    return scaled(entries.slope);
  }

  const BceWithLogitsArgs<float>& args_;
  Vector scale_;
  std::int64_t classes_;
  WideLog1pSum logs_;
  WideSum linear_;
};

double loss_rows(const BceWithLogitsArgs<float>& args, std::int64_t first, std::int64_t rows, double count) {
  LossRows losses(args, count);
  auto next = std::lower_bound(args.rows.begin(), args.rows.end(), first);
  for (std::int64_t r = 0; r < rows; ++r) {
    if (next == args.rows.end() || *next != first + r) {
      if (args.dlogits.rows > 0) std::fill_n(args.dlogits.row(r), args.dlogits.cols, 0.0F);
      continue;
    }
    ++next;
    losses.add(r, args.targets.row(first + r));
  }
  return losses.total();
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
