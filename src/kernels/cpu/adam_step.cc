// Adam and AdamW: one sweep over w, g, m and v.
#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/adam_step.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

void adam_chunk(const AdamStepArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const double correction1 = 1 - std::pow(args.beta1, static_cast<double>(args.step));
  const double correction2 = 1 - std::pow(args.beta2, static_cast<double>(args.step));
  const auto rate = static_cast<float>(args.lr / correction1);
  const auto inverse_root = static_cast<float>(1 / std::sqrt(correction2));
  const auto beta1 = static_cast<float>(args.beta1);
  const auto beta2 = static_cast<float>(args.beta2);
  const auto rest1 = static_cast<float>(1 - args.beta1);
  const auto rest2 = static_cast<float>(1 - args.beta2);
  const auto eps = static_cast<float>(args.eps);
  const auto shrink = static_cast<float>(args.decoupled ? 1 - args.lr * args.weight_decay : 1);
  const auto decay = static_cast<float>(args.decoupled ? 0 : args.weight_decay);
  float* w = args.w.data();
  float* m = args.m.data();
  float* v = args.v.data();
  const float* g = args.g.data();
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float slope = g[i] + decay * w[i];
    m[i] = beta1 * m[i] + rest1 * slope;
    v[i] = beta2 * v[i] + rest2 * slope * slope;
    // The chunk's operations have no branches, so the compiler keeps whole vectors of square roots and divisions.
    w[i] = shrink * w[i] - rate * m[i] / (std::sqrt(v[i]) * inverse_root + eps);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(adam_chunk);

void adam_step(const Context& context, const AdamStepArgs<float>& args) {
  const auto size = static_cast<std::int64_t>(args.w.size());
  parallel_chunks(context.threads, size, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(adam_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
