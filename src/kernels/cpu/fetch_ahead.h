// How far ahead of its use a row that is gathered is fetched: twice, far ahead into the second-level cache and shortly
// before into the first.
//
// Rows come at random, so no hardware prefetcher knows them, and how many lines a core may wait for at once is the rate
// of a gather: 24 in the first-level cache of a Zen 4, more in its second. What is asked for far ahead waits there;
// fetching into the first level from there takes some nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/prefetch.h"
#include "base/process.h"

namespace gneiss::kernels::cpu {

/// Rows ahead, in the order of the edges.
struct FetchAhead {
  static constexpr std::int64_t kMostFar = 128;
  static constexpr std::int64_t kMostNear = 8;

  std::int64_t far;   ///< of those that are fetched into the second-level cache; 0: none is
  std::int64_t near;  ///< into the first

  /// Rows, or panels of them, of `bytes`: 64 KiB and 4 KiB of them at most.
  static FetchAhead from_memory(std::int64_t bytes) {
    return {rows(65536, bytes, 16, kMostFar), rows(4096, bytes, 2, kMostNear)};
  }

  /// The same of those that a cache near by has, most of them: 16 KiB.
  static FetchAhead from_cache(std::int64_t bytes) { return {0, rows(16384, bytes, 4, 48)}; }

  /// One of the two, for rows of a table of `table_bytes`.
  static FetchAhead from_table(std::int64_t bytes, std::int64_t table_bytes) {
    return table_bytes <= most_in_cache() ? from_cache(bytes) : from_memory(bytes);
  }

  /// Bytes of a table whose rows are quicker to bring into the first level at once, a small part of the shared cache:
  /// of 1 to 4 MiB a Zen 4 with 32 gathers a tenth slower by two fetches, of 7 a sixth faster; a Xeon with 480 of 21 a
  /// fifth slower, of 313 a twelfth faster.
  static std::int64_t most_in_cache() {
    static const std::int64_t bytes =
        std::clamp(shared_cache_bytes() / 5, std::int64_t{6} << 20, std::int64_t{64} << 20);
    return bytes;
  }

 private:
  static std::int64_t rows(std::int64_t all, std::int64_t bytes, std::int64_t least, std::int64_t most) {
    return std::clamp(all / std::max<std::int64_t>(1, bytes), least, most);
  }
};

}  // namespace gneiss::kernels::cpu
