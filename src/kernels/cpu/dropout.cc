// Dropout on the CPU: Philox on vectors of counters.
//
// A lane is one Philox block, four draws for four consecutive columns of one row. Blocks of consecutive rows fill the
// vector, so narrow rows use all lanes too. Kept or not is an integer comparison: draw >= p means
// (bits >> 8) >= ceil(p * 2^24), since a draw is a multiple of 2^-24. Source: base/random.h, equal bit for bit.
#include <cmath>

#include "base/random.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"
#include "kernels/dropout_key.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dropout.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<std::uint32_t>;
using V = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

/// Counters of kLanes blocks, and after draw() their 4 * kLanes words in order.
struct Blocks {
  alignas(64) std::uint32_t low[kLanes];
  alignas(64) std::uint32_t high[kLanes];
  alignas(64) std::uint32_t column[kLanes];  ///< column / 4
  alignas(64) std::uint32_t words[4 * kLanes];
};

/// High and low halves of a * m.
struct Product {
  V high;
  V low;
};

HWY_INLINE Product multiply(V a, V m) {
  const Tag d;
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * hn::GetLane(m);
  return {hn::Set(d, static_cast<std::uint32_t>(product >> 32)), hn::Set(d, static_cast<std::uint32_t>(product))};
#else
  const hn::Repartition<std::uint64_t, Tag> d64;
  const auto even = hn::MulEven(a, m);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, a))), m);
  return {hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
#endif
}

HWY_INLINE void draw(const DropoutRule& rule, Blocks& blocks) {
  const Tag d;
  const V m0 = hn::Set(d, kPhiloxM0);
  const V m1 = hn::Set(d, kPhiloxM1);
  V c0 = hn::Load(d, blocks.low);
  V c1 = hn::Load(d, blocks.high);
  V c2 = hn::Load(d, blocks.column);
  V c3 = hn::Set(d, rule.stream);
  auto k0 = static_cast<std::uint32_t>(rule.key);
  auto k1 = static_cast<std::uint32_t>(rule.key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const Product p0 = multiply(c0, m0);
    const Product p1 = multiply(c2, m1);
    c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(d, k0));
    c1 = p1.low;
    c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(d, k1));
    c3 = p0.low;
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  hn::StoreInterleaved4(c0, c1, c2, c3, d, blocks.words);
}

HWY_INLINE void apply(const DropoutRule& rule, const std::uint32_t* words, std::int64_t count, const float* x,
                      float* y) {
  const Tag d;
  const hn::RebindToFloat<Tag> df;
  const hn::RebindToSigned<Tag> di;  // 24 bits: signed comparison will do
  const auto below = hn::Set(di, static_cast<std::int32_t>(rule.least) - 1);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto kept = hn::Gt(hn::BitCast(di, hn::ShiftRight<8>(hn::LoadU(d, words + i))), below);
    const auto scaled = hn::Mul(hn::LoadU(df, x + i), hn::Set(df, rule.scale));
    hn::StoreU(hn::IfThenElseZero(hn::RebindMask(df, kept), scaled), df, y + i);
  }
  for (; i < count; ++i) y[i] = (words[i] >> 8) >= rule.least ? x[i] * rule.scale : 0.0F;
}

/// A place in the sequence of blocks of consecutive rows.
struct Cursor {
  std::int64_t row;
  std::int64_t block;
};

/// All blocks of rows begin .. end of x, whose row r is named by name(r).
template <class Name>
HWY_INLINE void drop_rows(const DropoutRule& rule, const DropoutArgs<float>& args, std::int64_t begin, std::int64_t end,
                          const Name& name) {
  const std::int64_t cols = args.x.cols;
  const std::int64_t per_row = (cols + 3) / 4;
  const bool flat = cols % 4 == 0 && args.x.contiguous() && args.y.contiguous();
  Blocks blocks;
  Cursor at{begin, 0};
  std::int64_t left = (end - begin) * per_row;
  while (left > 0) {
    const Cursor first = at;
    const std::int64_t count = std::min(left, kLanes);
    DropoutRow row = name(at.row);
    for (std::int64_t i = 0; i < count; ++i) {
      blocks.low[i] = row.low;
      blocks.high[i] = row.high;
      blocks.column[i] = static_cast<std::uint32_t>(at.block);
      if (++at.block < per_row) continue;
      at = {at.row + 1, 0};
      if (i + 1 < count) row = name(at.row);
    }
    for (std::int64_t i = count; i < kLanes; ++i) blocks.low[i] = blocks.high[i] = blocks.column[i] = 0;
    draw(rule, blocks);
    left -= count;
    if (flat) {
      const std::int64_t offset = first.row * cols + first.block * 4;
      apply(rule, blocks.words, 4 * count, args.x.data + offset, args.y.data + offset);
      continue;
    }
    Cursor to = first;
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t run = std::min(count - i, per_row - to.block);
      const std::int64_t column = to.block * 4;
      apply(rule, blocks.words + 4 * i, std::min(4 * run, cols - column), args.x.row(to.row) + column,
            args.y.row(to.row) + column);
      i += run;
      to = {to.row + 1, 0};
    }
  }
}

void drop_node_chunk(const DropoutRule& rule, const DropoutArgs<float>& args, std::int64_t begin, std::int64_t end) {
  drop_rows(rule, args, begin, end,
            [&](std::int64_t r) HWY_ATTR { return node_row(args.row_ids, args.first_row + r); });
}

void drop_edge_chunk(const DropoutRule& rule, const DropoutArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const SparsePattern& pattern = *args.in_edges;
  std::int64_t v = begin;
  // Edges are visited in order, so the destination only moves forward.
  const auto name = [&](std::int64_t k) HWY_ATTR {
    while (pattern.offsets[static_cast<std::size_t>(v) + 1] <= k) ++v;
    const std::int64_t u = pattern.indices[static_cast<std::size_t>(k)];
    return args.reversed ? edge_row(args.row_ids, u, v) : edge_row(args.row_ids, v, u);
  };
  drop_rows(rule, args, pattern.offsets[static_cast<std::size_t>(begin)],
            pattern.offsets[static_cast<std::size_t>(end)], name);
}

/// Values of sparse rows: value k has its own column, so a lane gives one draw.
void drop_sparse_chunk(const DropoutRule& rule, const DropoutArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const SparsePattern& pattern = *args.sparse_rows;
  const EdgeId last = pattern.offsets[static_cast<std::size_t>(end)];
  std::int64_t v = begin;
  Blocks blocks{};
  for (EdgeId k = pattern.offsets[static_cast<std::size_t>(begin)]; k < last; k += kLanes) {
    const std::int64_t count = std::min<std::int64_t>(last - k, kLanes);
    const NodeId* columns = pattern.indices.data() + k;
    for (std::int64_t i = 0; i < count; ++i) {
      while (pattern.offsets[static_cast<std::size_t>(v) + 1] <= k + i) ++v;
      const DropoutRow row = node_row(args.row_ids, v);
      blocks.low[i] = row.low;
      blocks.high[i] = row.high;
      blocks.column[i] = static_cast<std::uint32_t>(columns[i]) / 4;
    }
    draw(rule, blocks);
    for (std::int64_t i = 0; i < count; ++i) {
      apply(rule, blocks.words + 4 * i + columns[i] % 4, 1, args.x.row(k + i), args.y.row(k + i));
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {

HWY_EXPORT(drop_node_chunk);
HWY_EXPORT(drop_edge_chunk);
HWY_EXPORT(drop_sparse_chunk);

void dropout(const Context& context, const DropoutArgs<float>& args) {
  if (args.x.empty()) return;
  const DropoutRule rule{dropout_key(args.seed, args.epoch), args.stream,
                         static_cast<std::uint32_t>(std::ceil(args.p * 0x1.0p24)),
                         static_cast<float>(args.p < 1 ? 1 / (1 - args.p) : 0)};
  if (args.in_edges != nullptr) {
    parallel_edge_rows(context.threads, args.in_edges->offsets, 16 * args.x.cols,
                       [&](std::int64_t begin, std::int64_t end) {
                         HWY_DYNAMIC_DISPATCH(drop_edge_chunk)(rule, args, begin, end);
                       });
  } else if (args.sparse_rows != nullptr) {
    parallel_edge_rows(context.threads, args.sparse_rows->offsets, 64, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(drop_sparse_chunk)(rule, args, begin, end);
    });
  } else {
    parallel_rows(context.threads, args.x.rows, args.x.cols, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(drop_node_chunk)(rule, args, begin, end);
    });
  }
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
