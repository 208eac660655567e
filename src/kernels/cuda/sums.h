// Sums in f64 whose order the shape alone decides: over the threads of a block, and of the columns of a matrix.
//
// Column sums take a chunk of rows over 32 columns a block, eight rows side by side; a second kernel adds the chunks in
// a fixed order. What is added up is a function of the place, so that a kernel writes no matrix of terms.
#pragma once

#include "kernels/cuda/device.h"

namespace gneiss::kernels::GNEISS_DEVICE {

inline constexpr unsigned kSumThreads = 256;
inline constexpr std::int64_t kPanelCols = 32;
inline constexpr std::int64_t kRowLanes = kSumThreads / kPanelCols;

/// Rows of a chunk: at most kMostChunks chunks of at least 256 rows.
inline constexpr std::int64_t kMostChunks = 1024;
constexpr std::int64_t rows_of_chunk(std::int64_t rows) {
  constexpr std::int64_t kLeastRows = 256;
  const std::int64_t even = (rows + kMostChunks - 1) / kMostChunks;
  return even > kLeastRows ? even : kLeastRows;
}
constexpr std::int64_t row_chunks(std::int64_t rows) { return (rows + rows_of_chunk(rows) - 1) / rows_of_chunk(rows); }
/// One at least, of no rows.
constexpr std::int64_t some_chunks(std::int64_t rows) { return rows == 0 ? 1 : row_chunks(rows); }

/// One block of kSumThreads threads that ends in sum_of_block.
inline constexpr Launch kOneBlock{1, kSumThreads, kSumThreads * sizeof(double)};

/// The sum over the block, in every thread: by halves.
__device__ inline double sum_of_block(double mine) {
  auto* sums = shared_memory<double>();
  __syncthreads();  // the sums of a call before have been read
  sums[threadIdx.x] = mine;
  for (unsigned half = kSumThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  return sums[0];
}

/// The sum over `lanes` lanes that lie together in a warp, a power of two, in each of them.
__device__ inline double sum_of_lanes(double mine, int lanes) {
  for (int bits = lanes / 2; bits > 0; bits /= 2) mine += __shfl_xor_sync(~0U, mine, bits);
  return mine;
}

/// A block's part of partials[chunk][s][c] = sum over the rows r of the chunk of term(s, r, c).
template <class Term>
__device__ void sum_row_chunk(const Term& term, std::int64_t rows, std::int64_t cols, std::int64_t panels,
                              double* partials) {
  auto* sums = shared_memory<double>();  // [kRowLanes][kPanelCols]
  const std::int64_t parts = Term::kSums * panels;
  const std::int64_t chunk = blockIdx.x / parts;
  const std::int64_t part = blockIdx.x - chunk * parts;
  const auto which = static_cast<int>(part / panels);
  const std::int64_t c = (part - which * panels) * kPanelCols + threadIdx.x % kPanelCols;
  const std::int64_t length = rows_of_chunk(rows);
  const std::int64_t end = (chunk + 1) * length < rows ? (chunk + 1) * length : rows;
  double sum = 0;
  if (c < cols) {
    for (std::int64_t r = chunk * length + threadIdx.x / kPanelCols; r < end; r += kRowLanes) sum += term(which, r, c);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= kPanelCols || c >= cols) return;
  double total = 0;
  for (std::int64_t row = 0; row < kRowLanes; ++row) total += sums[row * kPanelCols + threadIdx.x];
  partials[(chunk * Term::kSums + which) * cols + c] = total;
}

template <class Term>
__global__ void sum_row_chunks(Term term, std::int64_t rows, std::int64_t cols, std::int64_t panels, double* partials) {
  sum_row_chunk(term, rows, cols, panels, partials);
}

/// Columns of a block that joins partial results, and the threads that share each.
inline constexpr std::int64_t kJoinedCols = 8;
inline constexpr std::int64_t kJoinLanes = kSumThreads / kJoinedCols;

/// A block of kSumThreads threads for every kJoinedCols columns, with room for an element a thread.
template <class T>
Launch launch_joins(std::int64_t cols) {
  return {(cols + kJoinedCols - 1) / kJoinedCols, kSumThreads, kSumThreads * sizeof(T)};
}

/// The sum over the chunks of column c of partials [chunks, width], in the first thread of the column; c is the same in
/// its kJoinLanes threads, and may be beyond the width. Each takes every kJoinLanes-th chunk, four of which are on
/// their way together; then their sums are added in order. All threads of the block come here.
template <class T>
__device__ T join_chunks(const T* partials, std::int64_t chunks, std::int64_t width, std::int64_t c) {
  constexpr int kTogether = 4;
  const std::int64_t lane = threadIdx.x / kJoinedCols;
  T sums[kTogether] = {};
  if (c < width) {
    std::int64_t chunk = lane;
    for (; chunk + (kTogether - 1) * kJoinLanes < chunks; chunk += kTogether * kJoinLanes) {
      for (int q = 0; q < kTogether; ++q) sums[q] += partials[(chunk + q * kJoinLanes) * width + c];
    }
    for (; chunk < chunks; chunk += kJoinLanes) sums[0] += partials[chunk * width + c];
  }
  auto* shared = shared_memory<T>();
  __syncthreads();  // what was joined before has been read
  shared[threadIdx.x] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  __syncthreads();
  T total{};
  for (std::int64_t other = 0; lane == 0 && other < kJoinLanes; ++other)
    total += shared[other * kJoinedCols + threadIdx.x];
  return total;
}

/// The column that a thread of launch_joins has to do with.
__device__ inline std::int64_t joined_column() {
  return static_cast<std::int64_t>(blockIdx.x) * kJoinedCols + threadIdx.x % kJoinedCols;
}

/// totals[i] = factor * the sum over the chunks, i over all sums and columns.
[[maybe_unused]] static __global__ void join_to_doubles(const double* partials, std::int64_t chunks, std::int64_t width,
                                                        double factor, double* totals) {
  const std::int64_t i = joined_column();
  const double total = join_chunks(partials, chunks, width, i);
  if (threadIdx.x < kJoinedCols && i < width) totals[i] = factor * total;
}

/// totals[s] = factor * the sum of sum s over chunks and columns: all in one matrix [chunks, sums, cols]. One block.
[[maybe_unused]] static __global__ void join_to_numbers(const double* partials, std::int64_t chunks, std::int64_t cols,
                                                        int sums, double factor, double* totals) {
  for (int s = 0; s < sums; ++s) {
    double mine = 0;
    for (std::int64_t i = threadIdx.x; i < chunks * cols; i += kSumThreads)
      mine += partials[(i / cols * sums + s) * cols + i % cols];
    const double total = sum_of_block(mine);
    if (threadIdx.x == 0) totals[s] = factor * total;
  }
}

/// Doubles that `sums` sums of the columns take: the partials of sum_row_chunks.
inline std::size_t partial_sums(std::int64_t rows, std::int64_t cols, int sums) {
  return static_cast<std::size_t>(row_chunks(rows) * sums * cols);
}

/// What blocks of one launch have come to, so that the last of them can join it: with no launch of its own, and in an
/// order that the data alone decide. The launch before sets the counter to 0.
struct LastBlock {
  std::uint32_t* arrived;

  /// By one thread, in the launch before.
  __device__ void reset() const {
    if (first_item() == 0) *arrived = 0;
  }
  /// Is this the last block to come here? All its threads come. It sees what all blocks wrote before, if it reads that
  /// through a volatile pointer.
  __device__ bool is_here() const {
    auto* last = shared_memory<std::uint32_t>();
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *last = atomicAdd(arrived, std::uint32_t{1}) + 1 == gridDim.x ? 1 : 0;
    __syncthreads();
    return *last != 0;
  }
};
/// Room for the counter, in front of doubles.
inline constexpr std::size_t kLastBlockDoubles = 1;

/// partials[b] = the sum of term(i) over a stretch of the numbers, a block a stretch; one block at least.
template <class Term>
__global__ void sum_stretches(Term term, std::int64_t count, double* partials, LastBlock next) {
  next.reset();
  const std::int64_t length = rows_of_chunk(count);
  const std::int64_t begin = blockIdx.x * length;
  const std::int64_t end = begin + length < count ? begin + length : count;
  double mine = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kSumThreads) mine += term(i);
  const double total = sum_of_block(mine);
  if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

/// The sum of the partials, in every thread.
__device__ inline double join_stretches(const double* partials, std::int64_t count) {
  double mine = 0;
  for (std::int64_t i = threadIdx.x; i < row_chunks(count); i += kSumThreads) mine += partials[i];
  return sum_of_block(mine);
}

/// A block a chunk of so many rows, one at least.
inline Launch launch_chunks(std::int64_t rows) {
  return {some_chunks(rows), kSumThreads, kSumThreads * sizeof(double)};
}

/// `next`: the counter of the launch that follows.
template <class Term>
void launch_stretches(const DeviceContext& context, const Term& term, std::int64_t count, double* partials,
                      LastBlock next) {
  launch(context, sum_stretches<Term>, launch_chunks(count), term, count, partials, next);
}

/// Behind what a block has summed up: totals[block] = its sum, and in the last block to come here *to = share() of the
/// sum of all, in the order of the blocks.
template <class Share>
__device__ void join_in_last_block(double mine, double* totals, LastBlock last, const Share& share, float* to) {
  const double total = sum_of_block(mine);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
  if (!last.is_here()) return;
  const volatile double* const of_blocks = totals;
  double sum = 0;
  for (std::int64_t b = threadIdx.x; b < gridDim.x; b += kSumThreads) sum += of_blocks[b];
  const double all = sum_of_block(sum);
  if (threadIdx.x == 0) *to = share(all);
}

inline std::int64_t panels_of(std::int64_t cols) { return (cols + kPanelCols - 1) / kPanelCols; }
/// A block for each of so many chunks of rows, sum and panel of columns.
inline Launch launch_panels(std::int64_t chunks, std::int64_t cols, int sums) {
  return {chunks * panels_of(cols) * sums, kSumThreads, kSumThreads * sizeof(double)};
}

template <class Term>
void launch_row_chunks(const DeviceContext& context, const Term& term, std::int64_t rows, std::int64_t cols,
                       double* partials) {
  launch(context, sum_row_chunks<Term>, launch_panels(row_chunks(rows), cols, Term::kSums), term, rows, cols,
         panels_of(cols), partials);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
