// Functions of two elements on vectors: one tight loop for each way an operand broadcasts inside a row.
//
// Within a run an operand is either full (an element each), one value (a scalar per row, or of a group of columns), so
// broadcasting by row, by column and by head all come down to runs of those two kinds.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

using V = Vector;

struct Add {
  HWY_INLINE V operator()(V a, V b) const { return hn::Add(a, b); }
};
struct Sub {
  HWY_INLINE V operator()(V a, V b) const { return hn::Sub(a, b); }
};
struct Mul {
  HWY_INLINE V operator()(V a, V b) const { return hn::Mul(a, b); }
};
/// 0 / 0 is 0.
struct Div {
  HWY_INLINE V operator()(V a, V b) const {
    const V zero = hn::Zero(Tag());
    return hn::IfThenZeroElse(hn::And(hn::Eq(a, zero), hn::Eq(b, zero)), hn::Div(a, b));
  }
};
struct Maximum {
  HWY_INLINE V operator()(V a, V b) const { return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b); }
};
struct Minimum {
  HWY_INLINE V operator()(V a, V b) const { return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b); }
};

/// c = fn(a, b) over a run; an operand that is not full has one value.
template <bool kAFull, bool kBFull, class Fn>
HWY_INLINE void sweep(std::int64_t length, const float* a, const float* b, float* c, const Fn& fn) {
  const Tag d;
  const V one_a = hn::Set(d, *a);
  const V one_b = hn::Set(d, *b);
  std::int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    hn::StoreU(fn(kAFull ? hn::LoadU(d, a + i) : one_a, kBFull ? hn::LoadU(d, b + i) : one_b), d, c + i);
  }
  if (i == length) return;
  const std::int64_t left = length - i;
  store_first(fn(kAFull ? load_first(a + i, left) : one_a, kBFull ? load_first(b + i, left) : one_b), c + i, left);
}

template <class Fn>
HWY_INLINE void sweep(std::int64_t length, const float* a, bool a_full, const float* b, bool b_full, float* c,
                      const Fn& fn) {
  if (a_full && b_full) return sweep<true, true>(length, a, b, c, fn);
  if (a_full) return sweep<true, false>(length, a, b, c, fn);
  if (b_full) return sweep<false, true>(length, a, b, c, fn);
  sweep<false, false>(length, a, b, c, fn);
}

/// Rows begin .. end where each operand has full rows or one value a row.
template <bool kAFull, bool kBFull, class Fn>
HWY_INLINE void sweep_rows(const BinaryArgs<float>& args, std::int64_t begin, std::int64_t end, const Fn& fn) {
  const std::int64_t a_stride = args.a.rows == 1 ? 0 : args.a.stride;
  const std::int64_t b_stride = args.b.rows == 1 ? 0 : args.b.stride;
  const std::int64_t width = args.c.cols;
  for (std::int64_t r = begin; r < end; ++r) {
    sweep<kAFull, kBFull>(width, args.a.data + r * a_stride, args.b.data + r * b_stride, args.c.row(r), fn);
  }
}

/// Rows begin .. end, each cut into groups of columns within which no operand changes its kind.
template <class Fn>
HWY_INLINE void sweep_groups(const BinaryArgs<float>& args, std::int64_t begin, std::int64_t end, const Fn& fn) {
  const Tag d;
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
        for (std::int64_t i = j; i < j + length; ++i) {
          c[i] = hn::GetLane(fn(hn::Set(d, a[i / a_repeat]), hn::Set(d, b[i / b_repeat])));
        }
        continue;
      }
      sweep(length, a + j / a_repeat, a_full, b + j / b_repeat, b_full, c + j, fn);
    }
  }
}

template <class Fn>
HWY_INLINE void sweep_chunk(const BinaryArgs<float>& args, std::int64_t begin, std::int64_t end, const Fn& fn) {
  const std::int64_t width = args.c.cols;
  const auto whole = [&](const ConstMatrixView<float>& x)
                         HWY_ATTR { return x.rows == args.c.rows && x.cols == width && x.contiguous(); };
  if (whole(args.a) && whole(args.b) && args.c.contiguous()) {
    const std::int64_t first = begin * width;
    return sweep<true, true>((end - begin) * width, args.a.data + first, args.b.data + first, args.c.data + first, fn);
  }
  const bool a_full = args.a.cols == width;
  const bool b_full = args.b.cols == width;
  if (a_full && b_full) return sweep_rows<true, true>(args, begin, end, fn);
  if (a_full && args.b.cols == 1) return sweep_rows<true, false>(args, begin, end, fn);
  if (b_full && args.a.cols == 1) return sweep_rows<false, true>(args, begin, end, fn);
  sweep_groups(args, begin, end, fn);
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
