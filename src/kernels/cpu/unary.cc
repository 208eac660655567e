// Functions of one element on vectors; exp, log and tanh are Highway's (about 1 to 3 units in the last place).
#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/unary.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

using V = Vector;

struct Affine {
  V scale, shift;
  HWY_INLINE V operator()(V x) const { return hn::MulAdd(scale, x, shift); }
};
struct Relu {
  HWY_INLINE V operator()(V x) const { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(Tag())), x); }
};
struct LeakyRelu {
  V alpha;
  HWY_INLINE V operator()(V x) const { return hn::IfThenElse(hn::Gt(x, hn::Zero(Tag())), x, hn::Mul(alpha, x)); }
};
struct Elu {
  V alpha;
  HWY_INLINE V operator()(V x) const {
    const V zero = hn::Zero(Tag());
    return hn::IfThenElse(hn::Le(x, zero), hn::Mul(alpha, expm1_of_negative(hn::Min(x, zero))), x);
  }
};
struct Sigmoid {
  HWY_INLINE V operator()(V x) const {
    const V one = hn::Set(Tag(), 1.0F);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Div(one, hn::Add(one, hn::Exp(Tag(), hn::Neg(x)))));
  }
};
struct Tanh {
  HWY_INLINE V operator()(V x) const { return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(Tag(), x)); }
};
struct Sqrt {
  HWY_INLINE V operator()(V x) const { return hn::Sqrt(x); }
};
struct Rsqrt {
  HWY_INLINE V operator()(V x) const {
    const V root = hn::Div(hn::Set(Tag(), 1.0F), hn::Sqrt(x));
    return hn::IfThenZeroElse(hn::Le(x, hn::Zero(Tag())), root);
  }
};

void unary_run(const UnaryArgs<float>& args, std::int64_t length, const float* x, float* y) {
  const Tag d;
  const V alpha = hn::Set(d, static_cast<float>(args.alpha));
  switch (args.fn) {
    case Unary::kAffine:
      return transform_run(length, x, y, Affine{alpha, hn::Set(d, static_cast<float>(args.shift))});
    case Unary::kRelu:
      return transform_run(length, x, y, Relu{});
    case Unary::kLeakyRelu:
      return transform_run(length, x, y, LeakyRelu{alpha});
    case Unary::kElu:
      return transform_run(length, x, y, Elu{alpha});
    case Unary::kSigmoid:
      return transform_run(length, x, y, Sigmoid{});
    case Unary::kTanh:
      return transform_run(length, x, y, Tanh{});
    case Unary::kExp:
      return transform_run(length, x, y, ExpOf{});
    case Unary::kSqrt:
      return transform_run(length, x, y, Sqrt{});
    case Unary::kRsqrt:
      return transform_run(length, x, y, Rsqrt{});
    case Unary::kLog:
      // libm: rare, and its results at 0, below 0 and at infinity are wanted.
      for (std::int64_t i = 0; i < length; ++i) y[i] = std::log(x[i]);
      return;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(unary_run);

void unary(const Context& context, const UnaryArgs<float>& args) {
  const auto body = [&](std::int64_t length, const float* x, float* y) {
    HWY_DYNAMIC_DISPATCH(unary_run)(args, length, x, y);
  };
  parallel_runs(context.threads, body, args.x, args.y);
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
