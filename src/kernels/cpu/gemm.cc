// Tall-skinny dense products: a tile of c in registers, one operand broadcast, the other read as vectors.
//
// nn and nt: b is packed once into panels of up to three vectors of columns, zero-padded (nt transposes it here, so
// that both run the same kernel); a tile of rows is multiplied with panel after panel while those rows stay in L1. An
// inner size too long for packed rows to stay in L2 is cut into blocks whose results add up in c. tn: the rows of a and
// b are cut into fixed chunks with one partial c each, or one of its transpose, bᵀ·a, where that has fuller vectors
// (kept in the workspace, added in the order of the chunks). Within a chunk, blocks of rows pass through every tile of
// c; the next block of a is prefetched meanwhile, because a tile walks down a column of cache lines, which no hardware
// prefetcher follows. Tiles fill the registers: 12 x 2, 8 x 3 or 12 x 1 vectors with AVX-512, half as many rows where
// there are 16 registers. Every element is one chain of sums in
// the order of the inner index (of each chunk, for tn): no thread can change it. A left operand in 16 bits is widened
// block by block into scratch on the stack, which the same tiles then read. Source: the CPU study's section A: 82-92 %
// of peak for inner sizes of 100 and more.
#include "base/prefetch.h"
#include "kernels/band_views.h"
#include "kernels/cpu/cpu.h"
#include "kernels/gemm_parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/half-inl.h"
#include "kernels/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr bool k32Registers = HWY_TARGET <= HWY_AVX3;

/// Rows of the tile that fills the registers with `vectors` vectors of columns.
constexpr int tile_rows(int vectors) {
  constexpr int kFull[] = {12, 12, 8};
  constexpr int kHalf[] = {8, 6, 4};
  return k32Registers ? kFull[vectors - 1] : kHalf[vectors - 1];
}

/// How columns are cut into panels: pairs of vectors, and a triple (or one) where their number is odd.
int panel_vectors(std::int64_t columns_left) {
  const std::int64_t vectors = num_chunks(columns_left, kLanes);
  return static_cast<int>(vectors == 3 ? 3 : std::min<std::int64_t>(vectors, 2));
}

/// A strip of rows of c, as wide as a panel, and its operands: a(i, k) = a[i * a_row + k * a_inner], the vectors of b
/// at b + k * b_stride.
struct Strip {
  const float* a;
  std::int64_t a_row;
  std::int64_t a_inner;
  const float* b;
  std::int64_t b_stride;
  float* c;
  std::int64_t c_stride;
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t width;         ///< columns of c
  std::int64_t a_ahead;       ///< where b is not packed: how far ahead of a(0, k) to prefetch
  std::int64_t b_ahead;       ///< and how far ahead in b
  const float* start;         ///< what the product is added to: c itself, an addend, or null: zeros
  std::int64_t start_stride;  ///< 0: one row for all
};

/// Tiles ahead whose rows are fetched into the second-level cache.
constexpr int kFarTiles = 4;

/// Rows [row, row + kRows) of the strip. kPartial: its last vector is not full, in c and (unless packed) in b.
template <int kRows, int kVectors, bool kPartial, bool kPacked>
HWY_NOINLINE void multiply_tile(const Strip& strip, std::int64_t row) {
  const Tag d;
  const std::int64_t tail = strip.width - (kVectors - 1) * kLanes;
  const auto partial = [](int v) { return kPartial && v == kVectors - 1; };
  float* c = strip.c + row * strip.c_stride;
  const float* start = strip.start == nullptr ? nullptr : strip.start + row * strip.start_stride;
  Vector sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if (start == nullptr) {
        sum[i][v] = hn::Zero(d);
        continue;
      }
      const float* at = start + i * strip.start_stride + v * kLanes;
      sum[i][v] = partial(v) ? load_first(at, tail) : hn::LoadU(d, at);
    }
  }
  if (kPacked && start != c) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) prefetch_to_write(c + i * strip.c_stride + v * kLanes);
    }
  }
  const float* a = strip.a + row * strip.a_row;
  const float* b = strip.b;
  const std::int64_t a_row = strip.a_row;
  const std::int64_t a_ahead = strip.a_ahead;
  // One vector's worth in each of the first tiles.
  const std::int64_t fetched = row / kRows;
  const std::int64_t b_ahead = fetched < kVectors ? strip.b_ahead + fetched * kLanes : 0;
  for (std::int64_t k = strip.inner; k > 0; --k, a += strip.a_inner, b += strip.b_stride) {
    if constexpr (kPacked) {
      // Each row of the next tile, and of one that comes later, once in 16 inner indices.
      hwy::Prefetch(a + (kRows + (k & 15)) * a_row);
      prefetch_far(a + (kFarTiles * kRows + (k & 15)) * a_row);
    } else {
      prefetch_far(a + a_ahead);
      prefetch_far(b + b_ahead);
    }
    Vector columns[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      columns[v] = !kPacked && partial(v) ? load_first(b + v * kLanes, tail) : hn::LoadU(d, b + v * kLanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector value = hn::Set(d, a[i * a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(value, columns[v], sum[i][v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* at = c + i * strip.c_stride + v * kLanes;
      if (partial(v)) {
        store_first(sum[i][v], at, tail);
      } else {
        hn::StoreU(sum[i][v], d, at);
      }
    }
  }
}

/// Rows of the next tile of `left`: as many as fill the registers (`full`), or fewer where one to three would be left,
/// whose few sums wait for each other.
int next_tile_rows(int full, std::int64_t left) {
  for (const int rows : {12, 8, 6, 4}) {
    if (rows <= full && (rows == left || rows + 4 <= left)) return rows;
  }
  return 1;
}

/// All rows of the strip, tile after tile.
template <int kVectors, bool kPartial, bool kPacked>
void multiply_rows(const Strip& strip) {
  constexpr int kFull = tile_rows(kVectors);
  for (std::int64_t row = 0; row < strip.rows;) {
    const int rows = next_tile_rows(kFull, strip.rows - row);
    switch (rows) {
      case 12:
        multiply_tile<std::min(12, kFull), kVectors, kPartial, kPacked>(strip, row);
        break;
      case 8:
        multiply_tile<std::min(8, kFull), kVectors, kPartial, kPacked>(strip, row);
        break;
      case 6:
        multiply_tile<std::min(6, kFull), kVectors, kPartial, kPacked>(strip, row);
        break;
      case 4:
        multiply_tile<4, kVectors, kPartial, kPacked>(strip, row);
        break;
      default:
        multiply_tile<1, kVectors, kPartial, kPacked>(strip, row);
    }
    row += rows;
  }
}

template <bool kPacked>
void multiply_strip(int vectors, const Strip& strip) {
  using Kernel = void (*)(const Strip&);
  static constexpr Kernel kKernels[2][3] = {
      {multiply_rows<1, false, kPacked>, multiply_rows<2, false, kPacked>, multiply_rows<3, false, kPacked>},
      {multiply_rows<1, true, kPacked>, multiply_rows<2, true, kPacked>, multiply_rows<3, true, kPacked>}};
  kKernels[strip.width == vectors * kLanes ? 0 : 1][vectors - 1](strip);
}

/// Elements of a 16-bit operand that are widened at a time: 24 rows by 512 columns in nn, 128 by 96 in tn.
constexpr std::int64_t kWidenRows = 24;
constexpr std::int64_t kWidenColumns = 512;
constexpr std::int64_t kWidenRowsTransposed = 128;
constexpr std::int64_t kWidenColumnsTransposed = 96;
constexpr std::int64_t kWidenElements = kWidenRows * kWidenColumns;
static_assert(kWidenRowsTransposed * kWidenColumnsTransposed == kWidenElements);

/// Inner indices whose packed rows stay in L2 (half of 1 MiB), and of 16-bit rows those that are widened at a time.
std::int64_t inner_block(const GemmArgs<float>& args) {
  const std::int64_t padded = num_chunks(args.c.cols, kLanes) * kLanes;
  const std::int64_t block = std::max<std::int64_t>(64, (std::int64_t{128} << 10) / std::max<std::int64_t>(1, padded));
  return args.a_half.used() ? std::min(block, kWidenColumns) : block;
}

/// Packs inner rows [begin, end) of b into panels: within each block of inner_block rows, panel after panel.
void pack(const GemmArgs<float>& args, float* packed, std::int64_t begin, std::int64_t end) {
  const bool transposed = args.orientation == Orientation::kNT;
  const std::int64_t n = args.c.cols;
  const std::int64_t padded = num_chunks(n, kLanes) * kLanes;
  float* panel = packed + begin * padded;
  for (std::int64_t column = 0; column < n;) {
    const std::int64_t width = panel_vectors(n - column) * kLanes;
    const std::int64_t filled = std::min(width, n - column);
    for (std::int64_t k = begin; k < end; ++k) {
      float* to = panel + (k - begin) * width;
      if (transposed) {
        for (std::int64_t j = 0; j < filled; ++j) to[j] = args.b.row(column + j)[k];
      } else {
        std::copy_n(args.b.row(k) + column, filled, to);
      }
      std::fill_n(to + filled, width - filled, 0.0F);
    }
    panel += (end - begin) * width;
    column += width;
  }
}

/// Rows of a and c that stay in L1 (32 KiB) while panel after panel passes over them: whole tiles of 24 rows. Where b
/// as a whole does not fit there beside them, a panel does and the rows stay in L2 (256 KiB): b is read once for more
/// rows. Not where the inner size is small: c is most of what moves then, and neighbouring panels meet in its cache
/// lines (602 columns of 32: 47 ms in blocks of 96 rows on a Zen 4, 38 in blocks of 24).
std::int64_t row_block(std::int64_t inner, std::int64_t columns) {
  constexpr std::int64_t kSmallInner = 64;
  const bool wide = inner > kSmallInner && inner * columns > std::int64_t{8} << 10;
  const std::int64_t rows = (std::int64_t{wide ? 64 : 8} << 10) / (inner + columns);
  return std::clamp<std::int64_t>(rows / 24 * 24, 24, 240);
}

/// What rows of c are added to: null for zeros.
struct Start {
  const float* rows;
  std::int64_t stride;  ///< 0: one row for all
};

/// What rows of c from `row` on start from: the addend.
Start start_of(const GemmArgs<float>& args, std::int64_t row) {
  const MatrixView<const float>& addend = args.addend;
  if (addend.rows == 0) return {nullptr, 0};
  return addend.rows == 1 ? Start{addend.data, 0} : Start{addend.row(row), addend.stride};
}

/// Rows [begin, end) of c = a * b with b packed.
void multiply_packed(const GemmArgs<float>& args, const float* packed, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = args.c.cols;
  const std::int64_t k = args.a.cols;
  const std::int64_t padded = num_chunks(n, kLanes) * kLanes;
  const std::int64_t block = inner_block(args);
  const bool half = args.a_half.used();
  alignas(64) float widened[kWidenElements];
  for (std::int64_t first = 0; first < k; first += block) {
    const std::int64_t inner = std::min(block, k - first);
    const std::int64_t step = half ? kWidenElements / inner / kWidenRows * kWidenRows : row_block(inner, n);
    for (std::int64_t row = begin; row < end; row += step) {
      const std::int64_t rows = std::min(step, end - row);
      for (std::int64_t r = 0; half && r < rows; ++r) {
        widen_row(args.a_half.type, args.a_half.row(row + r) + first, inner, widened + r * inner);
      }
      const float* panel = packed + first * padded;
      for (std::int64_t column = 0; column < n;) {
        const int vectors = panel_vectors(n - column);
        const std::int64_t width = vectors * kLanes;
        const Start start = first > 0 ? Start{args.c.row(row), args.c.stride} : start_of(args, row);
        multiply_strip<true>(vectors, {.a = half ? widened : args.a.row(row) + first,
                                       .a_row = half ? inner : args.a.stride,
                                       .a_inner = 1,
                                       .b = panel,
                                       .b_stride = width,
                                       .c = args.c.row(row) + column,
                                       .c_stride = args.c.stride,
                                       .rows = rows,
                                       .inner = inner,
                                       .width = std::min(width, n - column),
                                       .a_ahead = 0,
                                       .b_ahead = 0,
                                       .start = start.rows == nullptr ? nullptr : start.rows + column,
                                       .start_stride = start.stride});
        panel += inner * width;
        column += width;
      }
    }
  }
}

/// c [m,n] = (or +=, where it adds) the product of inner rows [begin, end) of aᵀ and b; rows up to `next_end` will be
/// asked for next.
void multiply_transposed(const GemmArgs<float>& args, const MatrixView<float>& c, std::int64_t begin, std::int64_t end,
                         std::int64_t next_end, bool adds) {
  // A block of a (and of b) that stays in L2 while the tiles of c pass over it, and of which what a tile reads stays in
  // L1: lines one below the other, which meet in few sets. Where c is wide, each pass over it is worth more rows: with
  // 96 rows results of 128 x 256 take a twentieth less time than with 64 or 128 on a Zen 4; of 602 x 32 a Xeon takes 37
  // ms with 96 rows, 27 with 48 (gemm_bench).
  const std::int64_t block =
      std::clamp<std::int64_t>((std::int64_t{c.cols <= 64 ? 6 : 12} << 10) / args.a.cols, 32, 96);
  for (std::int64_t first = begin; first < end; first += block) {
    const bool more = first + 2 * block <= next_end;
    for (std::int64_t column = 0; column < c.cols;) {
      const int vectors = panel_vectors(c.cols - column);
      const std::int64_t width = std::min<std::int64_t>(vectors * kLanes, c.cols - column);
      multiply_strip<false>(vectors, {.a = args.a.row(first),
                                      .a_row = 1,
                                      .a_inner = args.a.stride,
                                      .b = args.b.row(first) + column,
                                      .b_stride = args.b.stride,
                                      .c = c.data + column,
                                      .c_stride = c.stride,
                                      .rows = c.rows,
                                      .inner = std::min(block, end - first),
                                      .width = width,
                                      .a_ahead = column == 0 && more ? block * args.a.stride : 0,
                                      .b_ahead = more ? block * args.b.stride : 0,
                                      .start = adds || first > begin ? c.data + column : nullptr,
                                      .start_stride = c.stride});
      column += width;
    }
  }
}

/// tn: are the vectors of its transpose, bᵀ·a, fuller by a tenth or more than those of c? 32 x 40 has 96 vectors with
/// 16 lanes, 40 x 32 has 80, each with the same sums.
bool suits_transposed(const GemmArgs<float>& args) {
  const std::int64_t m = args.a.cols;
  const std::int64_t n = args.b.cols;
  return !args.a_half.used() && 10 * n * num_chunks(m, kLanes) <= 9 * m * num_chunks(n, kLanes);
}

/// The same of an a in 16 bits: blocks of its columns, which are rows of c, and of its rows are widened and multiplied.
void multiply_transposed_halves(const GemmArgs<float>& args, const MatrixView<float>& c, std::int64_t begin,
                                std::int64_t end, bool adds) {
  alignas(64) float widened[kWidenElements];
  for (std::int64_t first = begin; first < end; first += kWidenRowsTransposed) {
    const std::int64_t inner = std::min(kWidenRowsTransposed, end - first);
    for (std::int64_t row = 0; row < c.rows; row += kWidenColumnsTransposed) {
      const std::int64_t rows = std::min(kWidenColumnsTransposed, c.rows - row);
      for (std::int64_t k = 0; k < inner; ++k) {
        widen_row(args.a_half.type, args.a_half.row(first + k) + row, rows, widened + k * kWidenColumnsTransposed);
      }
      for (std::int64_t column = 0; column < c.cols;) {
        const int vectors = panel_vectors(c.cols - column);
        const std::int64_t width = std::min<std::int64_t>(vectors * kLanes, c.cols - column);
        multiply_strip<false>(vectors, {.a = widened,
                                        .a_row = 1,
                                        .a_inner = kWidenColumnsTransposed,
                                        .b = args.b.row(first) + column,
                                        .b_stride = args.b.stride,
                                        .c = c.row(row) + column,
                                        .c_stride = c.stride,
                                        .rows = rows,
                                        .inner = inner,
                                        .width = width,
                                        .a_ahead = 0,
                                        .b_ahead = 0,
                                        .start = adds || first > begin ? c.row(row) + column : nullptr,
                                        .start_stride = c.stride});
        column += width;
      }
    }
  }
}

/// Rows of c that a task multiplies: whole tiles, some 4 Mflop and more.
std::int64_t rows_of_task(std::int64_t n, std::int64_t k) {
  const std::int64_t rows = (std::int64_t{2} << 20) / std::max<std::int64_t>(1, n * k);
  return std::clamp<std::int64_t>(rows / 240 * 240, 240, 4800);
}

void pack_all(const Context& context, const GemmArgs<float>& args) {
  auto* packed = reinterpret_cast<float*>(context.workspace.data());
  parallel_chunks(context.threads, args.a.cols, inner_block(args),
                  [&](std::int64_t begin, std::int64_t end) { pack(args, packed, begin, end); });
}

void gemm_packed(const Context& context, const GemmArgs<float>& args) {
  const auto* packed = reinterpret_cast<const float*>(context.workspace.data());
  pack_all(context, args);
  parallel_chunks(context.threads, args.c.rows, rows_of_task(args.c.cols, args.a.cols),
                  [&](std::int64_t begin, std::int64_t end) { multiply_packed(args, packed, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {
namespace {

HWY_EXPORT(gemm_packed);
HWY_EXPORT(pack_all);
HWY_EXPORT(multiply_packed);
HWY_EXPORT(multiply_transposed);
HWY_EXPORT(multiply_transposed_halves);
HWY_EXPORT(suits_transposed);

using Bands = BandKernel<GemmArgs<float>>;

/// nn and nt: b is packed once.
Bands packed_bands(const GemmArgs<float>& args) {
  Bands kernel;
  kernel.shared_bytes = gemm_workspace_bytes(args.orientation, args.c.rows, args.c.cols, args.a.cols, sizeof(float));
  kernel.prepare = [](const Context& context, const GemmArgs<float>& all) {
    HWY_DYNAMIC_DISPATCH(pack_all)(context, all);
  };
  kernel.run = [](const Context& context, const GemmArgs<float>& all, const Band& band) {
    const GemmArgs<float> part = band_of(all, band);
    HWY_DYNAMIC_DISPATCH(multiply_packed)
    (part, reinterpret_cast<const float*>(context.workspace.data()), 0, part.c.rows);
  };
  return kernel;
}

/// tn: args with a and b in each other's place, whose product is the transpose of c.
GemmArgs<float> with_operands_swapped(GemmArgs<float> args) {
  std::swap(args.a, args.b);
  return args;
}

/// tn: one partial result for each task.
Bands transposed_bands(const GemmArgs<float>& args) {
  Bands kernel;
  kernel.task_bytes = static_cast<std::size_t>(args.c.size()) * sizeof(float);
  kernel.run = [](const Context& context, const GemmArgs<float>& all, const Band& band) {
    auto* partial = task_partial<float>(context, transposed_bands(all), band.task);
    const bool swapped = HWY_DYNAMIC_DISPATCH(suits_transposed)(all);
    const MatrixView<float> sum = partial_of(all.c, swapped, partial);
    const GemmArgs<float> part = swapped ? with_operands_swapped(band_of(all, band)) : band_of(all, band);
    const std::int64_t rows = band.end - band.begin;
    if (all.a_half.used()) {
      HWY_DYNAMIC_DISPATCH(multiply_transposed_halves)(part, sum, 0, rows, !band.first());
    } else {
      HWY_DYNAMIC_DISPATCH(multiply_transposed)(part, sum, 0, rows, band.task_end - band.begin, !band.first());
    }
  };
  kernel.finish = [](const Context& context, const GemmArgs<float>& all, std::int64_t tasks) {
    add_partials(context, all.c, task_partial<float>(context, transposed_bands(all), 0), tasks,
                 HWY_DYNAMIC_DISPATCH(suits_transposed)(all));
  };
  return kernel;
}

}  // namespace

void gemm(const Context& context, const GemmArgs<float>& args) {
  if (args.c.empty()) return;
  const bool transposed = args.orientation == Orientation::kTN;
  if ((transposed ? args.a.rows : args.a.cols) == 0) {
    start_rows(args, 0, args.c.rows);
  } else if (transposed) {
    const bool swapped =
        gemm_tn_chunks(args.c.rows, args.c.cols, args.a.rows) > 1 && HWY_DYNAMIC_DISPATCH(suits_transposed)(args);
    const GemmArgs<float> operands = swapped ? with_operands_swapped(args) : args;
    const auto multiply = [&](const MatrixView<float>& part, std::int64_t begin, std::int64_t end) {
      if (args.a_half.used()) {
        HWY_DYNAMIC_DISPATCH(multiply_transposed_halves)(args, part, begin, end, false);
      } else {
        HWY_DYNAMIC_DISPATCH(multiply_transposed)(operands, part, begin, end, end, false);
      }
    };
    sum_inner_chunks(context, args, multiply, swapped);
  } else {
    HWY_DYNAMIC_DISPATCH(gemm_packed)(context, args);
  }
}

BandKernel<GemmArgs<float>> gemm_bands(const GemmArgs<float>& args) {
  const bool transposed = args.orientation == Orientation::kTN;
  if (args.c.empty() || (transposed ? args.a.rows : args.a.cols) == 0) return {};
  return transposed ? transposed_bands(args) : packed_bands(args);
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
