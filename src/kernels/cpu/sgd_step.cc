// Gradient descent with momentum: one sweep over w, g and the velocity.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/sgd_step.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

template <bool kNesterov>
HWY_INLINE void momentum_run(const SgdStepArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const auto lr = static_cast<float>(args.lr);
  const auto decay = static_cast<float>(args.weight_decay);
  const auto momentum = static_cast<float>(args.momentum);
  // v = g at the first step, whatever the velocity held.
  const bool first = args.step == 1;
  float* w = args.w.data();
  float* velocity = args.velocity.data();
  const float* g = args.g.data();
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float direction = g[i] + decay * w[i];
    const float v = first ? direction : momentum * velocity[i] + direction;
    velocity[i] = v;
    w[i] -= lr * (kNesterov ? direction + momentum * v : v);
  }
}

void sgd_chunk(const SgdStepArgs<float>& args, std::int64_t begin, std::int64_t end) {
  if (args.momentum != 0) {
    return args.nesterov ? momentum_run<true>(args, begin, end) : momentum_run<false>(args, begin, end);
  }
  const auto lr = static_cast<float>(args.lr);
  const auto decay = static_cast<float>(args.weight_decay);
  float* w = args.w.data();
  const float* g = args.g.data();
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) w[i] -= lr * (g[i] + decay * w[i]);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(sgd_chunk);

void sgd_step(const Context& context, const SgdStepArgs<float>& args) {
  const auto size = static_cast<std::int64_t>(args.w.size());
  parallel_chunks(context.threads, size, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(sgd_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
