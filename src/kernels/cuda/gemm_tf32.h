// Dense products on tensor cores, in f32's accuracy: an element is split into two of tf32 (11 bits each), and the three
// products of them that count are added up, the small ones first. What is left out is 2^-22 of a product.
//
// Tensor cores round their own sums in a way of their own. So a tile of the inner dimension is summed there from zero,
// and added to the result in f32. The bits are the same from run to run on a card; they are not those of other cards
// nor of the emulation, whose sums are rounded one by one. So these kernels run only where they are asked for.
#pragma once

#include <bit>

#include "kernels/cuda/gemm_tiles.h"

namespace gneiss::kernels::GNEISS_DEVICE {

inline constexpr int kTensorTileM = 128;
inline constexpr int kTensorTileN = 64;
/// A warp makes 32 x 32 results; lanes that read neighbouring inner elements find them in banks eight apart.
inline constexpr int kTensorPitchM = kTensorTileM + 8;
inline constexpr int kTensorPitchN = kTensorTileN + 8;
inline constexpr std::size_t kTensorSharedBytes =
    static_cast<std::size_t>(kTileInner * (kTensorPitchM + kTensorPitchN)) * sizeof(float);

/// x to 11 bits, half of the last one away from zero; cut off where that would be infinite.
__device__ inline float to_tf32(float x) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  constexpr std::uint32_t kKept = 0xFFFFE000U;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & kExponent) == kExponent) return x;
  const std::uint32_t rounded = (bits + 0x1000U) & kKept;
  return std::bit_cast<float>((rounded & kExponent) == kExponent ? bits & kKept : rounded);
}

/// An element in two parts, each of which tensor cores take as it is.
struct Split {
  float large;
  float small;
};
__device__ inline Split split_of(float x) {
  const float large = to_tf32(x);
  const bool finite = large - large == 0;
  return {large, finite ? to_tf32(x - large) : 0};
}

/// c += a b of 16 x 8 by 8 x 8 elements, spread over a warp as mma.m16n8k8 has it: with g = lane / 4 and t = lane % 4,
/// a is (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4); b is (t, g), (t + 4, g); c is (g, 2t), (g, 2t + 1), (g + 8,
/// 2t), (g + 8, 2t + 1).
__device__ inline void multiply_fragments(const float (&a)[4], const float (&b)[2], float (&c)[4]) {
#ifdef __CUDACC__
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#else
  struct Elements {
    float of[4];
  };
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int k = 0; k < 4; ++k) {
    const Elements row = __shfl_sync(~0U, Elements{{a[0], a[1], a[2], a[3]}}, lane / 4 * 4 + k);
    for (int j = 0; j < 2; ++j) {
      const Elements col = __shfl_sync(~0U, Elements{{b[0], b[1], 0, 0}}, (lane % 4 * 2 + j) * 4 + k);
      for (int high = 0; high < 2; ++high) {
        c[j] = fmaf(row.of[2 * high], col.of[high], c[j]);
        c[2 + j] = fmaf(row.of[2 * high + 1], col.of[high], c[2 + j]);
      }
    }
  }
#endif
}

/// Products that are worth it, and whose bound leaves room for what is left out.
inline bool suits_tensor_cores(const Product& p) {
  constexpr std::int64_t kLeastInner = 16;
  return p.m > 32 && p.n > 32 && p.part >= kLeastInner && p.k >= kLeastInner;
}

/// A block of eight warps makes a tile, each warp two fragments by four of it.
[[maybe_unused]] static __global__ void __launch_bounds__(kGemmThreads, 2)
    multiply_on_tensor_cores(Product p, const __grid_constant__ Epilogue epilogue) {
  constexpr int kFragmentsM = 2;
  constexpr int kFragmentsN = 4;
  auto* a_tile = shared_memory<float>();                // [kTileInner][kTensorPitchM]
  float* b_tile = a_tile + kTileInner * kTensorPitchM;  // [kTileInner][kTensorPitchN]
  const std::int64_t block = blockIdx.x;
  const std::int64_t part = block / (p.tiles_m * p.tiles_n);
  const std::int64_t tile = block - part * p.tiles_m * p.tiles_n;
  const std::int64_t i0 = tile / p.tiles_n * kTensorTileM;
  const std::int64_t j0 = tile % p.tiles_n * kTensorTileN;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int g = static_cast<int>(threadIdx.x) % 32 / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
  const int row = warp / 2 * 32 + g;  // of the first fragment's first result
  const int col = warp % 2 * 32 + 2 * t;
  const std::int64_t begin = part * p.part;
  const std::int64_t end = begin + p.part < p.k ? begin + p.part : p.k;
  float sums[kFragmentsM][kFragmentsN][4] = {};
  for (int m = 0; p.addend != nullptr && m < kFragmentsM; ++m) {
    for (int n = 0; n < kFragmentsN; ++n) {
      for (int q = 0; q < 4; ++q) {
        const std::int64_t i = i0 + row + 16 * m + 8 * (q / 2);
        const std::int64_t j = j0 + col + 8 * n + q % 2;
        if (i < p.m && j < p.n) sums[m][n][q] = p.addend[i * p.addend_step + j];
      }
    }
  }
  for (std::int64_t k0 = begin; k0 < end; k0 += kTileInner) {
    load_tile<kTensorTileM, kTensorPitchM>(a_tile, p.a, false, i0, k0, end);
    load_tile<kTensorTileN, kTensorPitchN>(b_tile, p.b, true, j0, k0, end);
    __syncthreads();
    float of_tile[kFragmentsM][kFragmentsN][4] = {};
    for (int k = 0; k < kTileInner; k += 8) {
      float a_large[kFragmentsM][4];
      float a_small[kFragmentsM][4];
      for (int m = 0; m < kFragmentsM; ++m) {
        for (int q = 0; q < 4; ++q) {
          const Split split = split_of(a_tile[(k + t + 4 * (q / 2)) * kTensorPitchM + row + 16 * m + 8 * (q % 2)]);
          a_large[m][q] = split.large;
          a_small[m][q] = split.small;
        }
      }
      for (int n = 0; n < kFragmentsN; ++n) {
        float b_large[2];
        float b_small[2];
        for (int q = 0; q < 2; ++q) {
          const Split split = split_of(b_tile[(k + t + 4 * q) * kTensorPitchN + warp % 2 * 32 + 8 * n + g]);
          b_large[q] = split.large;
          b_small[q] = split.small;
        }
        for (int m = 0; m < kFragmentsM; ++m) {
          multiply_fragments(a_small[m], b_large, of_tile[m][n]);
          multiply_fragments(a_large[m], b_small, of_tile[m][n]);
          multiply_fragments(a_large[m], b_large, of_tile[m][n]);
        }
      }
    }
    for (int m = 0; m < kFragmentsM; ++m) {
      for (int n = 0; n < kFragmentsN; ++n) {
        for (int q = 0; q < 4; ++q) sums[m][n][q] += of_tile[m][n][q];
      }
    }
    __syncthreads();
  }
  // Results go out by way of shared memory, half of the tile's rows at a time, whole rows side by side.
  constexpr int kRowsOut = kTensorTileM / 2;
  static_assert(kRowsOut * kTensorTileN * sizeof(float) <= kTensorSharedBytes);
  for (int first = 0; first < kTensorTileM; first += kRowsOut) {
    for (int m = 0; m < kFragmentsM; ++m) {
      for (int q = 0; q < 4; ++q) {
        const int r = row + 16 * m + 8 * (q / 2) - first;
        if (r < 0 || r >= kRowsOut) continue;
        for (int n = 0; n < kFragmentsN; ++n) a_tile[r * kTensorTileN + col + 8 * n + q % 2] = sums[m][n][q];
      }
    }
    __syncthreads();
    for (int at = static_cast<int>(threadIdx.x); at < kRowsOut * kTensorTileN / 4;
         at += static_cast<int>(kGemmThreads)) {
      const int r = at / (kTensorTileN / 4);
      const int c = at % (kTensorTileN / 4) * 4;
      store_products(p, epilogue, part, i0 + first + r, j0 + c, a_tile + r * kTensorTileN + c);
    }
    __syncthreads();
  }
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
