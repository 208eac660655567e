// What the fast variants of gemm share: what a product is added to, and aᵀ·b in fixed chunks of its inner rows, one
// partial result each, added in the order of the chunks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/chunks.h"
#include "kernels/gemm.h"

namespace gneiss::kernels {

/// Fills rows [begin, end) of c with what the product is added to: the addend, or zeros.
inline void start_rows(const GemmArgs<float>& args, std::int64_t begin, std::int64_t end) {
  const bool in_place = args.addend.rows == args.c.rows && args.addend.data == args.c.data;
  if (in_place) return;
  for (std::int64_t r = begin; r < end; ++r) {
    if (args.addend.rows == 0) {
      std::fill_n(args.c.row(r), args.c.cols, 0.0F);
    } else {
      std::copy_n(args.addend.row(args.addend.rows == 1 ? 0 : r), args.c.cols, args.c.row(r));
    }
  }
}

/// A partial result of c [m,n], or of its transpose.
inline MatrixView<float> partial_of(const MatrixView<float>& c, bool transposed, float* values) {
  return transposed ? MatrixView<float>(values, c.cols, c.rows) : MatrixView<float>(values, c.rows, c.cols);
}

/// c [m,n] = the sum of `count` partial results, or of those of its transpose, in their order. A run of elements is
/// read from one partial result after the other: element by element, each read would be of a line far from the one
/// before.
inline void add_partials(const Context& context, const MatrixView<float>& c, const float* partials, std::int64_t count,
                         bool transposed = false) {
  constexpr std::int64_t kMostOfRun = 1024;
  const std::int64_t size = c.rows * c.cols;
  const std::int64_t run = std::clamp<std::int64_t>((std::int64_t{1} << 15) / count, 256, kMostOfRun);
  parallel_chunks(context.threads, size, run, [&](std::int64_t begin, std::int64_t end) {
    std::array<float, kMostOfRun> sums;
    std::copy(partials + begin, partials + end, sums.begin());
    for (std::int64_t i = 1; i < count; ++i) {
      const float* partial = partials + i * size + begin;
#pragma omp simd
      for (std::int64_t e = 0; e < end - begin; ++e) sums[e] += partial[e];
    }
    for (std::int64_t e = begin; e < end; ++e) {
      float& to = transposed ? c.row(e % c.rows)[e / c.rows] : c.row(e / c.cols)[e % c.cols];
      to = sums[e - begin];
    }
  });
}

/// Fills args.c with the sum over chunks of inner rows of what multiply(part, begin, end) writes to part [m,n], or,
/// where it is `transposed`, which takes more than one chunk, to part [n,m]. The workspace holds gemm_workspace_bytes
/// for tn.
template <class Multiply>
void sum_inner_chunks(const Context& context, const GemmArgs<float>& args, const Multiply& multiply,
                      bool transposed = false) {
  const MatrixView<float>& c = args.c;
  const std::int64_t inner = args.a.rows;
  const std::int64_t chunks = gemm_tn_chunks(c.rows, c.cols, inner);
  if (chunks == 1) return multiply(c, 0, inner);
  auto* partials = reinterpret_cast<float*>(context.workspace.data());
  const std::int64_t size = c.rows * c.cols;
  parallel_chunks(context.threads, chunks, 1, [&](std::int64_t chunk, std::int64_t) {
    multiply(partial_of(c, transposed, partials + chunk * size), inner * chunk / chunks, inner * (chunk + 1) / chunks);
  });
  add_partials(context, c, partials, chunks, transposed);
}

}  // namespace gneiss::kernels
