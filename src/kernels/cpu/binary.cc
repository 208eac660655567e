// Functions of two elements: one tight loop for each way an operand broadcasts inside a row.
//
// Within a run an operand is either full (an element each), one value (a scalar per row, or of a group of columns), so
// broadcasting by row, by column and by head all come down to runs of those two kinds.
#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

struct Add {
  HWY_INLINE float operator()(float a, float b) const { return a + b; }
};
struct Sub {
  HWY_INLINE float operator()(float a, float b) const { return a - b; }
};
struct Mul {
  HWY_INLINE float operator()(float a, float b) const { return a * b; }
};
struct Div {
  HWY_INLINE float operator()(float a, float b) const { return a == 0 && b == 0 ? 0.0F : a / b; }
};
struct Maximum {
  HWY_INLINE float operator()(float a, float b) const { return a >= b || std::isnan(a) ? a : b; }
};
struct Minimum {
  HWY_INLINE float operator()(float a, float b) const { return a <= b || std::isnan(a) ? a : b; }
};

template <class Fn>
HWY_INLINE void sweep(std::int64_t length, const float* a, bool a_full, const float* b, bool b_full, float* c,
                      const Fn& fn) {
  if (a_full && b_full) {
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) c[i] = fn(a[i], b[i]);
  } else if (a_full) {
    const float value = *b;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) c[i] = fn(a[i], value);
  } else if (b_full) {
    const float value = *a;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) c[i] = fn(value, b[i]);
  } else {
    std::fill_n(c, length, fn(*a, *b));
  }
}

/// Rows begin .. end, each cut into groups of columns within which no operand changes its kind.
template <class Fn>
HWY_INLINE void sweep_rows(const BinaryArgs<float>& args, std::int64_t begin, std::int64_t end, const Fn& fn) {
  const std::int64_t width = args.c.cols;
  const bool a_full = args.a.cols == width;
  const bool b_full = args.b.cols == width;
  const std::int64_t a_repeat = a_full ? 1 : width / args.a.cols;
  const std::int64_t b_repeat = b_full ? 1 : width / args.b.cols;
  const std::int64_t step = std::min(a_full ? width : a_repeat, b_full ? width : b_repeat);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* a = args.a.row(args.a.rows == 1 ? 0 : r);
    const float* b = args.b.row(args.b.rows == 1 ? 0 : r);
    float* c = args.c.row(r);
    for (std::int64_t j = 0; j < width; j += step) {
      // Two operands of different numbers of heads meet where the finer one is cut; the coarser one need not divide it.
      const std::int64_t length = std::min(step, width - j);
      if (!a_full && !b_full && a_repeat != b_repeat) {
        for (std::int64_t i = j; i < j + length; ++i) c[i] = fn(a[i / a_repeat], b[i / b_repeat]);
        continue;
      }
      sweep(length, a + j / a_repeat, a_full, b + j / b_repeat, b_full, c + j, fn);
    }
  }
}

template <class Fn>
HWY_INLINE void sweep_chunk(const BinaryArgs<float>& args, std::int64_t begin, std::int64_t end, const Fn& fn) {
  const auto whole = [&](const ConstMatrixView<float>& x)
                         HWY_ATTR { return x.rows == args.c.rows && x.cols == args.c.cols && x.contiguous(); };
  if (whole(args.a) && whole(args.b) && args.c.contiguous()) {
    const std::int64_t first = begin * args.c.cols;
    return sweep((end - begin) * args.c.cols, args.a.data + first, true, args.b.data + first, true, args.c.data + first,
                 fn);
  }
  sweep_rows(args, begin, end, fn);
}

void binary_chunk(const BinaryArgs<float>& args, std::int64_t begin, std::int64_t end) {
  switch (args.fn) {
    case Binary::kAdd:
      return sweep_chunk(args, begin, end, Add{});
    case Binary::kSub:
      return sweep_chunk(args, begin, end, Sub{});
    case Binary::kMul:
      return sweep_chunk(args, begin, end, Mul{});
    case Binary::kDiv:
      return sweep_chunk(args, begin, end, Div{});
    case Binary::kMaximum:
      return sweep_chunk(args, begin, end, Maximum{});
    case Binary::kMinimum:
      return sweep_chunk(args, begin, end, Minimum{});
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(binary_chunk);

void binary(const Context& context, const BinaryArgs<float>& args) {
  if (args.c.empty()) return;
  parallel_rows(context.threads, args.c.rows, args.c.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(binary_chunk)(args, begin, end);
  });
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
