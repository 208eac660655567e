// Clipping by total norm: squares summed in f64 in fixed chunks, added in their order, then one scaling sweep.
#include <cmath>

#include "kernels/chunks.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/clip_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

double sum_squares(const float* g, std::int64_t length) {
  // Eight sums in a fixed pattern let the compiler use vectors without changing the order of additions.
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= length; i += 8) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += static_cast<double>(g[i + lane]) * g[i + lane];
  }
  for (; i < length; ++i) sums[0] += static_cast<double>(g[i]) * g[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

void scale_run(float* g, std::int64_t length, float scale) {
#pragma omp simd
  for (std::int64_t i = 0; i < length; ++i) g[i] *= scale;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(sum_squares);
HWY_EXPORT(scale_run);

void clip_norm(const Context& context, const ClipNormArgs<float>& args) {
  const auto size = static_cast<std::int64_t>(args.g.size());
  const std::int64_t grain = reduction_grain(size);
  const std::int64_t chunks = num_chunks(size, grain);
  auto* partials = reinterpret_cast<double*>(context.workspace.data());
  parallel_chunks(context.threads, size, grain, [&](std::int64_t begin, std::int64_t end) {
    partials[begin / grain] = HWY_DYNAMIC_DISPATCH(sum_squares)(args.g.data() + begin, end - begin);
  });
  double squares = 0;
  for (std::int64_t c = 0; c < chunks; ++c) squares += partials[c];
  *args.norm = std::sqrt(squares);
  const double scale = std::min(1.0, args.max_norm / (*args.norm + 1e-6));
  if (!(scale < 1)) return;
  parallel_chunks(context.threads, size, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(scale_run)(args.g.data() + begin, end - begin, static_cast<float>(scale));
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
