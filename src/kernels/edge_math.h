// What loops over edges are made of that are written as C++ (synth/loops.h): what such a loop is called with, functions
// of one element, and the draws of dropout. Plain loops over these become vectors for whichever instruction set runs
// them.
//
// A loop is compiled by itself, with nothing but this header and what it includes: keep that to random.h and to headers
// of the standard library that runtime/nvrtc.cc has stand-ins for, since NVRTC brings none.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/random.h"

/// A loop is compiled for several instruction sets, one of which is chosen when it is first called. Unrolling the edges
/// into the loops over columns (unroll-and-jam) would leave those to be computed one by one.
#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define GNEISS_EDGE_LOOP                                                                  \
  extern "C" __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), \
                            optimize("no-loop-unroll-and-jam")))
#else
#define GNEISS_EDGE_LOOP extern "C"
#endif

namespace gneiss::kernels {

/// What a loop runs on. Rows are destinations, or sources along out-edges; matrices are row-major without gaps.
struct EdgeLoopArgs {
  const std::int64_t* offsets = nullptr;     ///< [rows + 1]: where the edges of a row begin
  const std::int32_t* ends = nullptr;        ///< of each edge, its other end
  std::int64_t edges = 0;                    ///< how many there are
  const std::int64_t* slots = nullptr;       ///< along out-edges: the place of each edge among the in-edges
  const std::int64_t* in_offsets = nullptr;  ///< [destinations + 1]: where the in-edges of a destination begin
  const float* weights = nullptr;            ///< of the in-edges in order; null: all are 1
  const std::int64_t* ids = nullptr;         ///< original ids of nodes; null: their indices
  const void* const* reads = nullptr;
  void* const* writes = nullptr;
  std::uint64_t key = 0;  ///< of dropout
};

/// A loop over the edges of rows begin .. end; `totals` gets what sums over all edges are in these rows, added to what
/// is there.
using EdgeLoopFunction = void (*)(const EdgeLoopArgs& args, std::int64_t begin, std::int64_t end, float* totals);

namespace edge {

/// cuda/edge_loop.h has its own, for functions of cards.
#ifndef GNEISS_EDGE_INLINE
#define GNEISS_EDGE_INLINE inline __attribute__((always_inline))
#endif

GNEISS_EDGE_INLINE const float* reals(const EdgeLoopArgs& args, int i) {
  return static_cast<const float*>(args.reads[i]);
}
GNEISS_EDGE_INLINE const std::int32_t* indices(const EdgeLoopArgs& args, int i) {
  return static_cast<const std::int32_t*>(args.reads[i]);
}
GNEISS_EDGE_INLINE float* written(const EdgeLoopArgs& args, int i) { return static_cast<float*>(args.writes[i]); }
GNEISS_EDGE_INLINE std::int32_t* written_indices(const EdgeLoopArgs& args, int i) {
  return static_cast<std::int32_t*>(args.writes[i]);
}

/// The other end of an edge some way ahead, whose rows are to be on their way to the cache.
GNEISS_EDGE_INLINE std::int64_t end_ahead(const EdgeLoopArgs& args, std::int64_t k) {
  constexpr std::int64_t kAhead = 16;
  return args.ends[k + kAhead < args.edges ? k + kAhead : k];
}
template <int kCols, class T>
GNEISS_EDGE_INLINE void fetch(const T* row) {
  for (int j = 0; j < kCols; j += 64 / static_cast<int>(sizeof(T))) __builtin_prefetch(row + j);
}

/// 2^n for -252 <= n <= 254, times x: in two steps, since neither end is a float of its own.
GNEISS_EDGE_INLINE constexpr float scaled(float x, std::int32_t n) {
  const std::int32_t half = n / 2;
  return x * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((n - half + 127) << 23);
}

/// exp(x) = 2^n (1 + r + r^2 p(r)), |r| <= ln 2 / 2. Coefficients: Cephes, expf.c (public domain).
struct ExpParts {
  float r;
  float tail;  ///< r^2 p(r)
  std::int32_t n;
};
GNEISS_EDGE_INLINE constexpr ExpParts exp_parts(float x) {
  const float least = x < -87.0F ? -87.0F : x;
  const float within = least > 89.0F ? 89.0F : least;
  const float n = (within * 1.44269504F + 12582912.0F) - 12582912.0F;  // to the nearest whole number
  const float r = (within - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  return {r, r * r * p, static_cast<std::int32_t>(n)};
}

/// Within 2 units in the last place; 0 below -87, infinite above 88.73; NaN stays NaN.
GNEISS_EDGE_INLINE constexpr float exp(float x) {
  const ExpParts parts = exp_parts(x);
  const float y = scaled(1.0F + (parts.r + parts.tail), parts.n);
  const float finite = x > 88.722839F ? std::numeric_limits<float>::infinity() : y;
  return x < -87.0F ? 0.0F : finite;
}

/// exp(x) - 1 for x <= 0.
GNEISS_EDGE_INLINE constexpr float expm1(float x) {
  const ExpParts parts = exp_parts(x);
  const float near = parts.r + parts.tail;
  return parts.n == 0 ? near : scaled(1.0F + near, parts.n) - 1.0F;
}

GNEISS_EDGE_INLINE constexpr float sigmoid(float x) { return 1.0F / (1.0F + edge::exp(-x)); }

/// Coefficients near 0: Cephes, tanhf.c (public domain).
GNEISS_EDGE_INLINE constexpr float tanh(float x) {
  const float size = x < 0 ? -x : x;
  const float far = 1.0F - 2.0F / (edge::exp(2.0F * size) + 1.0F);
  const float square = x * x;
  float p = -5.70498872745e-3F;
  p = p * square + 2.06390887954e-2F;
  p = p * square - 5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square - 3.33332819422e-1F;
  const float near = x + x * square * p;
  const float signed_far = x < 0 ? -far : far;
  return size < 0.625F ? near : signed_far;
}

GNEISS_EDGE_INLINE float relu(float x) { return x < 0 ? 0.0F : x; }
GNEISS_EDGE_INLINE float leaky_relu(float x, float slope) { return x > 0 ? x : slope * x; }
GNEISS_EDGE_INLINE float elu(float x, float alpha) {
  const float below = x > 0 ? 0.0F : x;
  const float y = alpha * edge::expm1(below);
  return x > 0 ? x : y;
}
GNEISS_EDGE_INLINE float log(float x) { return std::log(x); }
GNEISS_EDGE_INLINE float sqrt(float x) { return std::sqrt(x); }
GNEISS_EDGE_INLINE float rsqrt(float x) { return x <= 0 ? 0.0F : 1.0F / std::sqrt(x); }

/// Slopes as functions of the results.
GNEISS_EDGE_INLINE float relu_slope(float y) { return y > 0 ? 1.0F : 0.0F; }
GNEISS_EDGE_INLINE float leaky_relu_slope(float y, float slope) { return y > 0 ? 1.0F : slope; }
GNEISS_EDGE_INLINE float elu_slope(float y, float alpha) { return y > 0 ? 1.0F : y + alpha; }
GNEISS_EDGE_INLINE float sigmoid_slope(float y) { return y * (1.0F - y); }
GNEISS_EDGE_INLINE float tanh_slope(float y) { return 1.0F - y * y; }
GNEISS_EDGE_INLINE float exp_slope(float y) { return y; }
GNEISS_EDGE_INLINE float sqrt_slope(float y) { return y == 0 ? 0.0F : 0.5F / y; }
GNEISS_EDGE_INLINE float rsqrt_slope(float y) { return -0.5F * y * y * y; }

/// a / b; 0 / 0 = 0, an empty mean.
GNEISS_EDGE_INLINE float quotient(float a, float b) { return a == 0 && b == 0 ? 0.0F : a / b; }
/// A NaN operand gives NaN.
GNEISS_EDGE_INLINE float maximum(float a, float b) { return a >= b || a != a ? a : b; }
GNEISS_EDGE_INLINE float minimum(float a, float b) { return a <= b || a != a ? a : b; }

/// y += x W of kWidth columns from `begin` on, W [kInner, kCols]: even and odd rows of W apart, so that sums overlap.
template <int kInner, int kCols, int kWidth>
GNEISS_EDGE_INLINE void multiply_columns(const float* x, const float* w, float* y, int begin) {
  float even[kWidth] = {};
  float odd[kWidth] = {};
  for (int i = 0; i + 1 < kInner; i += 2) {
#pragma omp simd
    for (int j = 0; j < kWidth; ++j) {
      even[j] += x[i] * w[i * kCols + begin + j];
      odd[j] += x[i + 1] * w[(i + 1) * kCols + begin + j];
    }
  }
  if constexpr (kInner % 2 == 1) {
    for (int j = 0; j < kWidth; ++j) even[j] += x[kInner - 1] * w[(kInner - 1) * kCols + begin + j];
  }
  for (int j = 0; j < kWidth; ++j) y[begin + j] += even[j] + odd[j];
}

/// y += x W: a row of an edge times a matrix [kInner, kCols].
template <int kInner, int kCols>
GNEISS_EDGE_INLINE void multiply(const float* x, const float* w, float* y) {
  constexpr int kWidth = 32;
  int begin = 0;
  for (; begin + kWidth <= kCols; begin += kWidth) multiply_columns<kInner, kCols, kWidth>(x, w, y, begin);
  if constexpr (kCols % kWidth != 0) multiply_columns<kInner, kCols, kCols % kWidth>(x, w, y, begin);
}

/// total += x^T y over edges: rows of some edges are collected, so that the matrix [kRows, kCols] is gone through once
/// for all of them.
template <int kRows, int kCols>
class OuterProducts {
 public:
  explicit OuterProducts(float* total) : total_(total) {}

  GNEISS_EDGE_INLINE void add(const float* x, const float* y) {
    for (int i = 0; i < kRows; ++i) x_[count_][i] = x[i];
    for (int j = 0; j < kCols; ++j) y_[count_][j] = y[j];
    if (++count_ == kEdges) flush();
  }
  GNEISS_EDGE_INLINE void finish() {
    if (count_ == 0) return;
    for (; count_ < kEdges; ++count_) {
      for (int i = 0; i < kRows; ++i) x_[count_][i] = 0;
      for (int j = 0; j < kCols; ++j) y_[count_][j] = 0;
    }
    flush();
  }

 private:
  static constexpr int kEdges = 8;

  GNEISS_EDGE_INLINE void flush() {
    constexpr int kWidth = 32;
    for (int i = 0; i < kRows; ++i) {
      int begin = 0;
      for (; begin + kWidth <= kCols; begin += kWidth) add_columns<kWidth>(i, begin);
      if constexpr (kCols % kWidth != 0) add_columns<kCols % kWidth>(i, begin);
    }
    count_ = 0;
  }

  template <int kWidth>
  GNEISS_EDGE_INLINE void add_columns(int i, int begin) {
    float sums[kWidth] = {};
    for (int e = 0; e < kEdges; ++e) {
#pragma omp simd
      for (int j = 0; j < kWidth; ++j) sums[j] += x_[e][i] * y_[e][begin + j];
    }
    for (int j = 0; j < kWidth; ++j) total_[i * kCols + begin + j] += sums[j];
  }

  float* total_;
  int count_ = 0;
  float x_[kEdges][kRows];
  float y_[kEdges][kCols];
};

/// What dropout multiplies the columns of an edge by: 0, or `scale` where a draw of 24 bits reaches `least`.
template <int kCols>
GNEISS_EDGE_INLINE void draw(const EdgeLoopArgs& args, std::uint32_t stream, std::uint32_t least, float scale,
                             std::int64_t destination, std::int64_t source, float (&factors)[kCols]) {
  const auto id = [&](std::int64_t v) { return static_cast<std::uint32_t>(args.ids == nullptr ? v : args.ids[v]); };
  for (std::uint32_t block = 0; block * 4 < kCols; ++block) {
    const PhiloxBlock words = philox(args.key, {id(destination), id(source), block, stream});
    for (std::uint32_t i = 0; i < 4 && block * 4 + i < kCols; ++i)
      factors[block * 4 + i] = (words[i] >> 8) >= least ? scale : 0.0F;
  }
}

}  // namespace edge
}  // namespace gneiss::kernels
