// Backward of the functions of one element: plain loops that the compiler turns into vectors for each instruction set.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/unary_grad.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

struct Relu {
  HWY_INLINE float operator()(float y) const { return y > 0 ? 1.0F : 0.0F; }
};
struct LeakyRelu {
  float alpha;
  HWY_INLINE float operator()(float y) const { return y > 0 ? 1.0F : alpha; }
};
struct Elu {
  float alpha;
  HWY_INLINE float operator()(float y) const { return y > 0 ? 1.0F : y + alpha; }
};
struct Sigmoid {
  HWY_INLINE float operator()(float y) const { return y * (1 - y); }
};
struct Tanh {
  HWY_INLINE float operator()(float y) const { return 1 - y * y; }
};
struct Exp {
  HWY_INLINE float operator()(float y) const { return y; }
};
struct Sqrt {
  HWY_INLINE float operator()(float y) const { return y == 0 ? 0.0F : 0.5F / y; }
};
struct Rsqrt {
  HWY_INLINE float operator()(float y) const { return -0.5F * y * y * y; }
};

template <class Slope>
HWY_INLINE void sweep(std::int64_t length, const float* y, const float* dy, float* dx, const Slope& slope) {
#pragma omp simd
  for (std::int64_t i = 0; i < length; ++i) dx[i] = dy[i] * slope(y[i]);
}

void unary_grad_run(const UnaryGradArgs<float>& args, std::int64_t length, const float* y, const float* dy, float* dx) {
  const auto alpha = static_cast<float>(args.alpha);
  switch (args.fn) {
    case Unary::kRelu:
      return sweep(length, y, dy, dx, Relu{});
    case Unary::kLeakyRelu:
      return sweep(length, y, dy, dx, LeakyRelu{alpha});
    case Unary::kElu:
      return sweep(length, y, dy, dx, Elu{alpha});
    case Unary::kSigmoid:
      return sweep(length, y, dy, dx, Sigmoid{});
    case Unary::kTanh:
      return sweep(length, y, dy, dx, Tanh{});
    case Unary::kExp:
      return sweep(length, y, dy, dx, Exp{});
    case Unary::kSqrt:
      return sweep(length, y, dy, dx, Sqrt{});
    case Unary::kRsqrt:
      return sweep(length, y, dy, dx, Rsqrt{});
    case Unary::kAffine:
    case Unary::kLog:
      return;  // the contract refuses them
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(unary_grad_run);

void unary_grad(const Context& context, const UnaryGradArgs<float>& args) {
  const auto body = [&](std::int64_t length, const float* y, const float* dy, float* dx) {
    HWY_DYNAMIC_DISPATCH(unary_grad_run)(args, length, y, dy, dx);
  };
  parallel_runs(context.threads, body, args.y, args.dy, args.dx);
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
