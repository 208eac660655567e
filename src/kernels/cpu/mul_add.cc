// x + a * b: within a row, runs of columns in which each factor is either full or one value.
#include "kernels/mul_add.h"

#include <numeric>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/mul_add.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// y = x + a * b over a run; a factor that is not full has one value.
HWY_INLINE void mul_add_run(std::int64_t length, const float* x, const float* a, bool a_full, const float* b,
                            bool b_full, float* y) {
  if (a_full && b_full) {
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) y[i] = x[i] + a[i] * b[i];
  } else if (a_full || b_full) {
    const float value = a_full ? *b : *a;
    const float* full = a_full ? a : b;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) y[i] = x[i] + full[i] * value;
  } else {
    const float value = *a * *b;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) y[i] = x[i] + value;
  }
}

void mul_add_chunk(const MulAddArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.y.cols;
  const bool a_full = args.a.cols == width;
  const bool b_full = args.b.cols == width;
  const std::int64_t a_repeat = width / args.a.cols;
  const std::int64_t b_repeat = width / args.b.cols;
  // Runs end wherever a factor that is not full takes its next value.
  const std::int64_t step = std::gcd(a_full ? width : a_repeat, b_full ? width : b_repeat);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* a = args.a.row(args.a.rows == 1 ? 0 : r);
    const float* b = args.b.row(args.b.rows == 1 ? 0 : r);
    for (std::int64_t j = 0; j < width; j += step) {
      mul_add_run(step, args.x.row(r) + j, a + j / a_repeat, a_full, b + j / b_repeat, b_full, args.y.row(r) + j);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {
namespace {

HWY_EXPORT(mul_add_chunk);

}  // namespace

void mul_add(const Context& context, const MulAddArgs<float>& args) {
  if (args.y.empty()) return;
  parallel_rows(context.threads, args.y.rows, args.y.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(mul_add_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
