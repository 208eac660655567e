// What this machine can do, measured now: a kernel's rate means little on a shared machine without it.
#pragma once

#include <cstdint>

namespace gneiss::bench {

/// Bytes a second of reading 1 GiB in order.
double read_bytes_per_second(int threads);
/// How a gather asks for rows ahead.
enum class Fetch {
  kOnce,   ///< into the first-level cache, 32 rows ahead: the common way, in which shares of a gather are given
  kTwice,  ///< into the second-level cache 128 rows ahead, from there into the first 8 ahead: the best that is known
};
/// Bytes a second of reading uniformly random rows of a table, whole cache lines.
double gather_bytes_per_second(int threads, std::int64_t row_bytes, std::int64_t table_bytes,
                               Fetch fetch = Fetch::kOnce);
/// Flop a second of a square product of 1536 x 1536 matrices, split by rows over the threads.
double product_flop_per_second(int threads);

}  // namespace gneiss::bench
