// What this machine can do, measured now: a kernel's rate means little on a shared machine without it.
#pragma once

#include <cstdint>

namespace gneiss::bench {

/// Bytes a second of reading 1 GiB in order.
double read_bytes_per_second(int threads);
/// Bytes a second of reading uniformly random rows of a table, whole cache lines, prefetched.
double gather_bytes_per_second(int threads, std::int64_t row_bytes, std::int64_t table_bytes);
/// Flop a second of a square product of 1536 x 1536 matrices, split by rows over the threads.
double product_flop_per_second(int threads);

}  // namespace gneiss::bench
