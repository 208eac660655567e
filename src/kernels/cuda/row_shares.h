// How kernels that walk the entries of rows share these out. Rows of graphs differ by a factor of ten thousand: a row
// with few entries has a few lanes, a long one a block, so that no lane walks the longest row alone. The shape decides,
// so that results have the same bits everywhere.
//
// A lane takes `vector` neighbouring columns; `lanes` of them make up a row of up to 128 columns (wider ones are taken
// in panels), and several such groups share the entries of a row where rows have many.
#pragma once

#include "kernels/cuda/device.h"

namespace gneiss::kernels::GNEISS_DEVICE {

inline constexpr unsigned kRowThreads = 256;

/// Columns that a lane takes together, read as one.
struct alignas(16) Four {
  float of[4];
};
struct alignas(8) FourHalves {
  std::uint16_t of[4];
};

/// Rows of an operand start where four elements can be read as one.
template <class T>
bool lie_together(const T* data, std::int64_t stride) {
  return reinterpret_cast<std::uintptr_t>(data) % (4 * sizeof(T)) == 0 && stride % 4 == 0;
}

/// Reads kVector elements, 1 or 4; four lie together.
template <int kVector>
__device__ void load_vector(const float* from, float* to) {
  if constexpr (kVector == 4) {
    const Four four = *reinterpret_cast<const Four*>(from);
    for (int c = 0; c < 4; ++c) to[c] = four.of[c];
  } else {
    static_assert(kVector == 1);
    *to = *from;
  }
}

struct RowShares {
  std::int64_t rows = 0;
  std::int64_t slots = 0;     ///< blocks for long rows: at most one begins in each stretch of long_row entries
  std::int64_t long_row = 0;  ///< rows with more entries are long
  unsigned lanes = 1;         ///< of a group: a power of two
  unsigned groups = 1;        ///< that share an ordinary row; lanes * groups fit in a warp
};

inline PatternSizes sizes_of(const SparsePatternIn<Space::kDevice>& pattern) {
  return {pattern.rows, pattern.cols, static_cast<std::int64_t>(pattern.indices.size)};
}

/// What the order of additions goes by: sizes of the pattern, or of the one that it is a part of.
inline PatternSizes deciding_sizes(const SparsePatternIn<Space::kDevice>& pattern) {
  return pattern.part_of.rows != 0 ? pattern.part_of : sizes_of(pattern);
}

/// For the rows of a pattern, which have `cols` columns.
inline RowShares share_rows(const SparsePatternIn<Space::kDevice>& pattern, std::int64_t cols, int vector) {
  constexpr std::int64_t kLongRow = 256;     // at least
  constexpr std::int64_t kManyEntries = 64;  // in a mean row: a whole warp walks it
  const PatternSizes whole = deciding_sizes(pattern);
  const std::int64_t mean = whole.rows == 0 ? 0 : whole.entries / whole.rows;
  RowShares shares;
  shares.rows = pattern.rows;
  shares.long_row = std::max(kLongRow, 8 * mean);
  shares.slots = sizes_of(pattern).entries / shares.long_row;
  shares.lanes = static_cast<unsigned>(lanes_for((cols + vector - 1) / vector));
  if (mean >= kManyEntries) shares.groups = 32 / shares.lanes;
  return shares;
}

inline Launch launch_of(const RowShares& shares, std::size_t shared_bytes) {
  const std::int64_t rows_of_block = kRowThreads / (shares.lanes * shares.groups);
  return {shares.slots + (shares.rows + rows_of_block - 1) / rows_of_block, kRowThreads, shared_bytes};
}

/// Scratch for find_long_rows.
inline std::size_t long_rows_workspace(const SparsePatternIn<Space::kDevice>& pattern) {
  return static_cast<std::size_t>(share_rows(pattern, 1, 1).slots) * sizeof(NodeId);
}

/// long_rows[s]: the long row that begins in stretch s, or -1. The row that holds the last entry of a stretch says so.
[[maybe_unused]] static __global__ void find_long_rows(const EdgeId* offsets, RowShares shares, NodeId* long_rows) {
  for (std::int64_t v = first_item(); v < shares.rows; v += item_step()) {
    const EdgeId begin = offsets[v];
    const EdgeId end = offsets[v + 1];
    const bool is_long = end - begin > shares.long_row;
    const std::int64_t first = begin / shares.long_row;
    for (std::int64_t s = first; s < end / shares.long_row; ++s)
      long_rows[s] = is_long && s == first ? static_cast<NodeId>(v) : -1;
  }
}

inline const NodeId* launch_find_long_rows(const DeviceContext& context, const EdgeId* offsets,
                                           const RowShares& shares) {
  auto* long_rows = reinterpret_cast<NodeId*>(context.workspace.data);
  if (shares.slots > 0) launch(context, find_long_rows, launch_over(context, shares.rows), offsets, shares, long_rows);
  return long_rows;
}

/// What a thread has to do.
struct RowShare {
  std::int64_t row = -1;  ///< -1: nothing
  EdgeId begin = 0;       ///< its part of the row's entries
  EdgeId end = 0;
  EdgeId length = 0;  ///< of the whole row
  unsigned lane = 0;
  unsigned group = 0;
  bool by_block = false;  ///< the same in all threads of a block
};

__device__ inline RowShare share_of_thread(const EdgeId* offsets, const RowShares& shares, const NodeId* long_rows) {
  RowShare mine;
  const std::int64_t block = blockIdx.x;
  unsigned groups = shares.groups;
  mine.lane = threadIdx.x % shares.lanes;
  mine.by_block = block < shares.slots;
  if (mine.by_block) {
    groups = kRowThreads / shares.lanes;
    mine.group = threadIdx.x / shares.lanes;
    mine.row = long_rows[block];
  } else {
    const unsigned threads = shares.lanes * shares.groups;
    mine.group = threadIdx.x / shares.lanes % shares.groups;
    mine.row = (block - shares.slots) * (kRowThreads / threads) + threadIdx.x / threads;
    if (mine.row >= shares.rows) mine.row = -1;
  }
  if (mine.row < 0) return mine;
  const EdgeId begin = offsets[mine.row];
  mine.end = offsets[mine.row + 1];
  mine.length = mine.end - begin;
  if (!mine.by_block && mine.length > shares.long_row && shares.slots > 0) {
    mine = RowShare{.lane = mine.lane, .group = mine.group};
    return mine;
  }
  const EdgeId part = (mine.length + groups - 1) / groups;
  mine.begin = begin + mine.group * part < mine.end ? begin + mine.group * part : mine.end;
  mine.end = mine.begin + part < mine.end ? mine.begin + part : mine.end;
  return mine;
}

/// Joins what the groups of a row have, in order, into what the first group has. Every thread of the block comes here.
/// Partial: plain data with join(later).
template <class Partial>
__device__ void join_groups(const RowShares& shares, const RowShare& mine, Partial& partial) {
  if (mine.by_block) {
    auto* partials = shared_memory<Partial>();
    partials[threadIdx.x] = partial;
    __syncthreads();
    for (unsigned g = 1; mine.group == 0 && g < kRowThreads / shares.lanes; ++g)
      partial.join(partials[g * shares.lanes + mine.lane]);
    __syncthreads();
    return;
  }
  for (unsigned bits = shares.lanes; bits < shares.lanes * shares.groups; bits *= 2) {
    Partial other = partial;
    other.exchange(static_cast<int>(bits));
    if ((mine.group & (bits / shares.lanes)) == 0) partial.join(other);
  }
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
