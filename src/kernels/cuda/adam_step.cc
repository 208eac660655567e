// Adam and AdamW, a thread an element; corrections are made once on the host, and read from the numbers of the step
// where there are some.
#include <cmath>

#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

struct AdamRule {
  float rate;
  float inverse_root;  ///< what the root of the second moment is multiplied with
  float beta1;
  float beta2;
  float rest1;
  float rest2;
  float eps;
  float decay;
  double lr;
  double shrinking;  ///< the decay of AdamW, or 0
};

__global__ void adam_update(AdamRule rule, const StepNumbers* step, const float* guard, std::int64_t size,
                            const float* g, float* w, float* m, float* v) {
  if (!may_update(guard)) return;
  if (step != nullptr) {
    rule.rate = step->adam_rate;
    rule.inverse_root = step->adam_inverse_root;
    rule.lr = step->lr;
  }
  const auto shrink = static_cast<float>(1 - rule.lr * rule.shrinking);
  for (std::int64_t i = first_item(); i < size; i += item_step()) {
    const float slope = g[i] + rule.decay * w[i];
    m[i] = rule.beta1 * m[i] + rule.rest1 * slope;
    v[i] = rule.beta2 * v[i] + rule.rest2 * slope * slope;
    w[i] = shrink * w[i] - rule.rate * m[i] / (sqrtf(v[i]) * rule.inverse_root + rule.eps);
  }
}

}  // namespace

void adam_step(const DeviceContext& context, const OnDevice<AdamStepArgs>& args) {
  const auto steps = static_cast<double>(args.step);
  AdamRule rule{};
  rule.rate = static_cast<float>(args.lr / (1 - std::pow(args.beta1, steps)));
  rule.inverse_root = static_cast<float>(1 / std::sqrt(1 - std::pow(args.beta2, steps)));
  rule.beta1 = static_cast<float>(args.beta1);
  rule.beta2 = static_cast<float>(args.beta2);
  rule.rest1 = static_cast<float>(1 - args.beta1);
  rule.rest2 = static_cast<float>(1 - args.beta2);
  rule.eps = static_cast<float>(args.eps);
  rule.lr = args.lr;
  rule.shrinking = args.decoupled ? args.weight_decay : 0;
  rule.decay = static_cast<float>(args.decoupled ? 0 : args.weight_decay);
  const auto size = static_cast<std::int64_t>(args.w.size);
  launch(context, adam_update, launch_over(context, size), rule, context.step, context.guard, size, args.g.data,
         args.w.data, args.m.data, args.v.data);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
