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

/// Rows begin .. end where each operand has full rows or one value a row, of `kVectors` whole vectors; 0: of any width.
template <int kVectors, bool kAFull, bool kBFull, class Fn>
HWY_INLINE void sweep_rows_of(const BinaryArgs<float>& args, std::int64_t begin, std::int64_t end, const Fn& fn) {
  const std::int64_t a_stride = args.a.rows == 1 ? 0 : args.a.stride;
  const std::int64_t b_stride = args.b.rows == 1 ? 0 : args.b.stride;
  const std::int64_t c_stride = args.c.stride;
  const std::int64_t width = kVectors > 0 ? kVectors * kLanes : args.c.cols;
  // Not from args in the loop: a compiler cannot know that what is stored is not they, and would read them again for
  // every row.
  const float* a = args.a.data + begin * a_stride;
  const float* b = args.b.data + begin * b_stride;
  float* const c_end = args.c.row(end);
  for (float* c = args.c.row(begin); c < c_end; c += c_stride) {
    sweep<kAFull, kBFull>(width, a, b, c, fn);
    a += a_stride;
    b += b_stride;
  }
}

/// The same; without a loop over the vectors of a row where they are few.
template <bool kAFull, bool kBFull, class Fn>
HWY_INLINE void sweep_rows(const BinaryArgs<float>& args, std::int64_t begin, std::int64_t end, const Fn& fn) {
  switch (args.c.cols % kLanes == 0 ? args.c.cols / kLanes : 0) {
    case 1:
      return sweep_rows_of<1, kAFull, kBFull>(args, begin, end, fn);
    case 2:
      return sweep_rows_of<2, kAFull, kBFull>(args, begin, end, fn);
    case 4:
      return sweep_rows_of<4, kAFull, kBFull>(args, begin, end, fn);
    case 8:
      return sweep_rows_of<8, kAFull, kBFull>(args, begin, end, fn);
    default:
      return sweep_rows_of<0, kAFull, kBFull>(args, begin, end, fn);
  }
}

/// Whether rows of `all` and of `other` can be taken several to a vector: `all` has every element, `other` one value a
/// row or one row.
bool narrow(const BinaryArgs<float>& args, const ConstMatrixView<float>& all, const ConstMatrixView<float>& other) {
  const auto& c = args.c;
  const bool whole = all.rows == c.rows && all.cols == c.cols && all.contiguous() && c.contiguous();
  const bool one_a_row = other.cols == 1 && other.rows == c.rows && other.contiguous();
  return whole && c.cols < kLanes && (one_a_row || (other.rows == 1 && other.cols == c.cols));
}

/// The elements of `other` beside whole vectors of narrow rows, one after the other.
template <bool kOneARow>
class NarrowOperand {
 public:
  NarrowOperand(const ConstMatrixView<float>& other, std::int64_t cols, std::int64_t begin)
      : other_(other), cols_(cols), rows_ahead_(kLanes / cols), columns_ahead_(kLanes % cols), row_(begin) {
    if constexpr (kOneARow) {
      for (std::int64_t first = 0; first < cols; ++first) {
        std::int32_t row = 0;
        std::int64_t column = first;
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          rows_[first * kLanes + lane] = row;
          if (++column < cols) continue;
          column = 0;
          ++row;
        }
      }
    } else {
      std::int64_t column = 0;
      for (float& value : repeated_) {
        value = other.data[column];
        if (++column == cols) column = 0;
      }
    }
  }

  HWY_INLINE V next() {
    const Tag d;
    V value;
    if constexpr (kOneARow) {
      const std::int64_t left = other_.rows - row_;
      const V rows = left >= kLanes ? hn::LoadU(d, other_.data + row_) : load_first(other_.data + row_, left);
      value = hn::TableLookupLanes(rows, hn::SetTableIndices(d, rows_ + column_ * kLanes));
    } else {
      value = hn::LoadU(d, repeated_ + column_);
    }
    row_ += rows_ahead_;
    column_ += columns_ahead_;
    if (column_ >= cols_) {
      column_ -= cols_;
      ++row_;
    }
    return value;
  }

 private:
  const ConstMatrixView<float>& other_;
  std::int64_t cols_;
  // From one vector's first element to the next one's.
  std::int64_t rows_ahead_;
  std::int64_t columns_ahead_;
  std::int64_t row_;  ///< of the first element of the next vector
  std::int64_t column_ = 0;
  alignas(64) float repeated_[kOneARow ? 1 : 2 * kLanes];
  alignas(64) std::int32_t rows_[kOneARow ? kLanes * kLanes : 1];  ///< rows from a vector's first element to each, by
                                                                   ///< the column of the first
};

/// Rows begin .. end of fewer elements than a vector has, as one run. A row at a time they would wait for each other
/// where the result lies over an operand: a processor takes the masked store of one row to overlap the masked load of
/// the next.
template <bool kAll, bool kOneARow, class Fn>
HWY_INLINE void sweep_narrow(const BinaryArgs<float>& args, std::int64_t begin, std::int64_t end, const Fn& fn) {
  const Tag d;
  const std::int64_t cols = args.c.cols;
  const std::int64_t length = (end - begin) * cols;
  const float* all = (kAll ? args.a : args.b).data + begin * cols;
  NarrowOperand<kOneARow> other(kAll ? args.b : args.a, cols, begin);
  float* c = args.c.data + begin * cols;
  const auto combine = [&](V x) HWY_ATTR { return kAll ? fn(x, other.next()) : fn(other.next(), x); };
  std::int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) hn::StoreU(combine(hn::LoadU(d, all + i)), d, c + i);
  if (i < length) store_first(combine(load_first(all + i, length - i)), c + i, length - i);
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
  if (narrow(args, args.a, args.b)) {
    return args.b.rows == args.c.rows ? sweep_narrow<true, true>(args, begin, end, fn)
                                      : sweep_narrow<true, false>(args, begin, end, fn);
  }
  if (narrow(args, args.b, args.a)) {
    return args.a.rows == args.c.rows ? sweep_narrow<false, true>(args, begin, end, fn)
                                      : sweep_narrow<false, false>(args, begin, end, fn);
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
