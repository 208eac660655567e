// Backward of maximum and minimum: a select, left to the compiler for each instruction set.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/extreme_grad.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

template <bool kMaximum>
HWY_INLINE void sweep(bool first, std::int64_t length, const float* a, const float* b, const float* dy, float* dx) {
#pragma omp simd
  for (std::int64_t i = 0; i < length; ++i) {
    const bool first_wins = kMaximum ? a[i] >= b[i] : a[i] <= b[i];
    dx[i] = first_wins == first ? dy[i] : 0.0F;
  }
}

void extreme_grad_run(const ExtremeGradArgs<float>& args, std::int64_t length, const float* a, const float* b,
                      const float* dy, float* dx) {
  args.maximum ? sweep<true>(args.first, length, a, b, dy, dx) : sweep<false>(args.first, length, a, b, dy, dx);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(extreme_grad_run);

void extreme_grad(const Context& context, const ExtremeGradArgs<float>& args) {
  const auto body = [&](std::int64_t length, const float* a, const float* b, const float* dy, float* dx) {
    HWY_DYNAMIC_DISPATCH(extreme_grad_run)(args, length, a, b, dy, dx);
  };
  parallel_runs(context.threads, body, args.a, args.b, args.dy, args.dx);
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
