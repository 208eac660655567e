// How reductions are cut: by the size of the data alone, so that partial results and their order are always the same.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"

namespace gneiss::kernels {

inline constexpr std::int64_t kMaxChunks = 32;

/// Items of one chunk of a reduction over n items: at most kMaxChunks chunks, none too small to be worth a task.
inline std::int64_t reduction_grain(std::int64_t n) { return std::max<std::int64_t>(1024, num_chunks(n, kMaxChunks)); }
/// Number of chunks of a reduction over n items, at least 1.
inline std::int64_t reduction_chunks(std::int64_t n) {
  return std::max<std::int64_t>(1, num_chunks(n, reduction_grain(n)));
}

/// Chunks of the inner size k of aᵀ·b with a result [m,n]: partial results stay under 16 MiB where 8 chunks allow it.
inline std::int64_t gemm_tn_chunks(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kLeastRows = 2048;
  constexpr std::int64_t kPartialElements = 4 << 20;
  std::int64_t chunks = std::clamp<std::int64_t>(k / kLeastRows, 1, kMaxChunks);
  while (chunks > 8 && chunks * m * n > kPartialElements) chunks /= 2;
  return chunks;
}

}  // namespace gneiss::kernels
