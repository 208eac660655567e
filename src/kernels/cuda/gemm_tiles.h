// What kernels of dense products share: operands in any orientation, tiles of them in shared memory, and where results
// go.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/half.h"
#include "kernels/cuda/row_shares.h"

namespace gneiss::kernels::GNEISS_DEVICE {

inline constexpr unsigned kGemmThreads = 256;
inline constexpr int kTileInner = 32;

/// Element (r, c) of an operand of c = a * b lies at data[r * row_step + c * col_step], or in 16 bits at halves[…].
struct Operand {
  const float* data;
  const std::uint16_t* halves;
  HalfType type;
  std::int64_t row_step;
  std::int64_t col_step;
  std::int64_t rows;
  std::int64_t cols;
  bool by_fours;  ///< four elements that lie together can be read as one

  __device__ float at(std::int64_t r, std::int64_t c) const {
    if (r >= rows || c >= cols) return 0;
    const std::int64_t place = r * row_step + c * col_step;
    return type == HalfType::kNone ? data[place] : widen(type, halves[place]);
  }
};

struct Product {
  Operand a;
  Operand b;
  const float* addend;  ///< or null
  std::int64_t addend_step;
  float* c;
  std::int64_t c_step;
  std::int64_t part_step;  ///< from the result of one part to that of the next
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t part;  ///< inner length
  std::int64_t tiles_m;
  std::int64_t tiles_n;
  bool stores_fours;  ///< so do results and what the epilogue reads and writes
};

/// Brings kOuter x kTileInner elements of an operand to tile[inner][outer], zeros beyond its ends. `inner_first`: its
/// inner dimension lies together in memory, else the outer one. Neighbouring threads read neighbours.
template <int kOuter, int kPitch>
__device__ void load_tile(float* tile, const Operand& from, bool is_b, std::int64_t outer0, std::int64_t inner0,
                          std::int64_t inner_end) {
  const bool inner_together = is_b ? from.row_step == 1 && from.col_step != 1 : from.col_step == 1;
  const std::int64_t outer_end = is_b ? from.cols : from.rows;
  if (from.by_fours) {
    constexpr int kFours = kOuter * kTileInner / 4;
    for (int t = static_cast<int>(threadIdx.x); t < kFours; t += kGemmThreads) {
      const int outer = inner_together ? t / (kTileInner / 4) : t % (kOuter / 4) * 4;
      const int inner = inner_together ? t % (kTileInner / 4) * 4 : t / (kOuter / 4);
      const std::int64_t o = outer0 + outer;
      const std::int64_t i = inner0 + inner;
      const std::int64_t r = is_b ? i : o;
      const std::int64_t c = is_b ? o : i;
      Four four{};
      const bool whole = inner_together ? o < outer_end && i + 3 < inner_end : i < inner_end && o + 3 < outer_end;
      if (whole) {
        four = *reinterpret_cast<const Four*>(from.data + r * from.row_step + c * from.col_step);
      } else if (o < outer_end && i < inner_end) {
        for (int q = 0; q < 4; ++q) {
          const bool inside = inner_together ? i + q < inner_end : o + q < outer_end;
          if (inside) four.of[q] = from.data[r * from.row_step + c * from.col_step + q];
        }
      }
      if (inner_together) {
        for (int q = 0; q < 4; ++q) tile[(inner + q) * kPitch + outer] = four.of[q];
      } else {
        *reinterpret_cast<Four*>(tile + inner * kPitch + outer) = four;
      }
    }
    return;
  }
  for (int t = static_cast<int>(threadIdx.x); t < kOuter * kTileInner; t += kGemmThreads) {
    const int outer = inner_together ? t / kTileInner : t % kOuter;
    const int inner = inner_together ? t % kTileInner : t / kOuter;
    const std::int64_t i = inner0 + inner;
    const float element = is_b ? from.at(i, outer0 + outer) : from.at(outer0 + outer, i);
    tile[inner * kPitch + outer] = i < inner_end ? element : 0.0F;
  }
}

/// Four products of row i from column j on, as far as there are columns.
__device__ inline void store_products(const Product& p, const Epilogue& epilogue, std::int64_t part, std::int64_t i,
                                      std::int64_t j, const float* from) {
  if (i >= p.m || j >= p.n) return;
  float* const to = p.c == nullptr ? nullptr : p.c + part * p.part_step + i * p.c_step + j;
  if (p.stores_fours && j + 3 < p.n) {
    float products[4];
    load_vector<4>(from, products);
    if (to != nullptr) store_vector<4>(products, to);
    return run_epilogue<4>(epilogue, i, static_cast<std::uint32_t>(j), products);
  }
  for (int q = 0; q < 4 && j + q < p.n; ++q) {
    float product = from[q];
    if (to != nullptr) to[q] = product;
    run_epilogue<1>(epilogue, i, static_cast<std::uint32_t>(j + q), &product);
  }
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
