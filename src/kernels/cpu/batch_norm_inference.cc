// Batch normalisation with given statistics: one sweep; square roots and divisions hide behind the memory traffic.
#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/batch_norm_inference.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

void normalise(const BatchNormInferenceArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const float* gamma = args.gamma.data;
  const float* beta = args.beta.data;
  const float* mean = args.mean.data;
  const float* var = args.var.data;
  const auto eps = static_cast<float>(args.eps);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* x = args.x.row(r);
    float* y = args.y.row(r);
#pragma omp simd
    for (std::int64_t c = 0; c < args.x.cols; ++c) {
      y[c] = (x[c] - mean[c]) / std::sqrt(var[c] + eps) * gamma[c] + beta[c];
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(normalise);

void batch_norm_inference(const Context& context, const BatchNormInferenceArgs<float>& args) {
  parallel_rows(context.threads, args.x.rows, args.x.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(normalise)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
