// Gradient descent with momentum, a thread an element.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

struct SgdRule {
  float rate;
  float momentum;
  float decay;
  bool first;
  bool nesterov;
};

__global__ void sgd_update(SgdRule rule, const StepNumbers* step, const float* guard, std::int64_t size, const float* g,
                           float* w, float* velocity) {
  if (!may_update(guard)) return;
  if (step != nullptr) {
    rule.rate = static_cast<float>(step->lr);
    rule.first = step->first;
  }
  for (std::int64_t i = first_item(); i < size; i += item_step()) {
    const float slope = g[i] + rule.decay * w[i];
    float direction = slope;
    if (velocity != nullptr) {
      const float moved = rule.first ? slope : rule.momentum * velocity[i] + slope;
      velocity[i] = moved;
      direction = rule.nesterov ? slope + rule.momentum * moved : moved;
    }
    w[i] -= rule.rate * direction;
  }
}

}  // namespace

void sgd_step(const DeviceContext& context, const OnDevice<SgdStepArgs>& args) {
  const SgdRule rule{static_cast<float>(args.lr), static_cast<float>(args.momentum),
                     static_cast<float>(args.weight_decay), args.step == 1, args.nesterov};
  const auto size = static_cast<std::int64_t>(args.w.size);
  launch(context, sgd_update, launch_over(context, size), rule, context.step, context.guard, size, args.g.data,
         args.w.data, args.momentum != 0 ? args.velocity.data : nullptr);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
