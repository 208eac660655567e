// Aggregation of neighbours. Sums: the lanes of a row read each gathered row in one piece, four columns a lane where
// rows lie so, and have the rows of eight entries on their way at a time; entries are added in order (row_shares.h).
// Elements in 16 bits are widened as they are read. Extremes walk the entries alike and keep the first of equals.
//
// Rows that are gathered from a table which the L2 cache does not hold, but of which it holds a panel of columns, are
// taken panel by panel, each by a launch of its own. The shape alone decides (panels.h), so that bits are the same on
// every card.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/half.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/panels.h"
#include "kernels/cuda/row_shares.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

constexpr int kEntriesAhead = 8;

__device__ float weight_of_entry(const OnDevice<SpmmArgs>& args, EdgeId k, std::int64_t head) {
  const EdgeId slot = args.pattern.slots.size == 0 ? k : args.pattern.slots.data[k];
  return args.w.data[slot * args.heads + head];
}

/// kVector columns of row u from column j on.
template <int kVector, bool kHalves>
__device__ void load_columns(const OnDevice<SpmmArgs>& args, std::int64_t u, std::int64_t j, float* to) {
  if constexpr (kHalves) {
    const std::uint16_t* from = args.x_half.data + u * args.x_half.stride + j;
    if constexpr (kVector == 4) {
      const FourHalves four = *reinterpret_cast<const FourHalves*>(from);
      for (int c = 0; c < 4; ++c) to[c] = widen(args.x_half.type, four.of[c]);
    } else {
      to[0] = widen(args.x_half.type, *from);
    }
  } else {
    load_vector<kVector>(args.x.data + u * args.x.stride + j, to);
  }
}

template <int kVector>
struct ColumnSums {
  float of[kVector] = {};

  __device__ void join(const ColumnSums& later) {
    for (int c = 0; c < kVector; ++c) of[c] += later.of[c];
  }
  __device__ void exchange(int bits) {
    for (int c = 0; c < kVector; ++c) of[c] = __shfl_xor_sync(~0U, of[c], bits);
  }
};

/// Adds `count` entries from k on, at most kEntriesAhead, whose rows are on their way together.
template <int kVector, bool kHalves, bool kWeighted>
__device__ void aggregate_entries(const OnDevice<SpmmArgs>& args, EdgeId k, int count, std::int64_t j,
                                  std::int64_t head, ColumnSums<kVector>& sum) {
  float rows[kEntriesAhead][kVector] = {};
  float weights[kEntriesAhead] = {};
  for (int i = 0; i < kEntriesAhead; ++i) {
    if (i >= count) continue;
    load_columns<kVector, kHalves>(args, args.pattern.indices.data[k + i], j, rows[i]);
    if constexpr (kWeighted) weights[i] = weight_of_entry(args, k + i, head);
  }
  for (int i = 0; i < kEntriesAhead; ++i) {
    if (i >= count) continue;
    for (int c = 0; c < kVector; ++c)
      sum.of[c] = kWeighted ? fmaf(weights[i], rows[i][c], sum.of[c]) : sum.of[c] + rows[i][c];
  }
}

template <int kVector, bool kHalves, bool kWeighted>
__device__ ColumnSums<kVector> sum_of_entries(const OnDevice<SpmmArgs>& args, const RowShare& mine, std::int64_t j,
                                              std::int64_t head) {
  ColumnSums<kVector> sum;
  EdgeId k = mine.begin;
  for (; k + kEntriesAhead <= mine.end; k += kEntriesAhead)
    aggregate_entries<kVector, kHalves, kWeighted>(args, k, kEntriesAhead, j, head, sum);
  const auto rest = static_cast<int>(mine.end - k);
  if (rest > 0) aggregate_entries<kVector, kHalves, kWeighted>(args, k, rest, j, head, sum);
  return sum;
}

template <int kVector>
__device__ void store_columns(const OnDevice<SpmmArgs>& args, const RowShare& mine, std::int64_t j,
                              ColumnSums<kVector> sum, const Epilogue& epilogue) {
  const bool mean = args.reduce == Reduce::kMean && mine.length > 0;
  float factor = mean ? 1.0F / static_cast<float>(mine.length) : 1.0F;
  if (args.scales.rows != 0) factor *= args.scales.data[mine.row * args.scales.stride];
  for (int c = 0; c < kVector; ++c) sum.of[c] *= factor;
  if (args.y_half.type != HalfType::kNone) {
    for (int c = 0; c < kVector; ++c)
      args.y_half.data[mine.row * args.y_half.stride + j + c] = narrow(args.y_half.type, sum.of[c]);
    return;
  }
  if (args.y.data != nullptr) store_vector<kVector>(sum.of, args.y.data + mine.row * args.y.stride + j);
  run_epilogue<kVector>(epilogue, mine.row, static_cast<std::uint32_t>(j), sum.of);
}

/// Columns [begin, end) of the result.
struct ColumnRange {
  std::int64_t begin;
  std::int64_t end;
};

template <int kVector, bool kHalves, bool kWeighted>
__global__ void __launch_bounds__(kRowThreads, kHalves || kWeighted ? 2 : 4)
    sum_entries(OnDevice<SpmmArgs> args, ColumnRange columns, RowShares shares, const NodeId* long_rows,
                const __grid_constant__ Epilogue epilogue) {
  const RowShare mine = share_of_thread(args.pattern.offsets.data, shares, long_rows);
  const std::int64_t width = args.y.cols / args.heads;
  for (std::int64_t first = columns.begin; first < columns.end; first += shares.lanes * kVector) {
    const std::int64_t j = first + mine.lane * kVector;
    const bool works = mine.row >= 0 && j < columns.end;
    ColumnSums<kVector> sum;
    if (works) sum = sum_of_entries<kVector, kHalves, kWeighted>(args, mine, j, args.heads == 1 ? 0 : j / width);
    join_groups(shares, mine, sum);
    if (works && mine.group == 0) store_columns(args, mine, j, sum, epilogue);
  }
}

/// Of each column the best so far, and which entry of the row it is of; -1: none yet.
template <int kVector, bool kMax>
struct ColumnExtremes {
  float of[kVector] = {};
  std::int32_t at[kVector];

  __device__ ColumnExtremes() {
    for (int c = 0; c < kVector; ++c) at[c] = -1;
  }
  __device__ void take(int c, float term, std::int32_t position) {
    if (at[c] >= 0 && !(kMax ? term > of[c] : term < of[c])) return;
    of[c] = term;
    at[c] = position;
  }
  __device__ void join(const ColumnExtremes& later) {
    for (int c = 0; c < kVector; ++c) {
      if (later.at[c] >= 0) take(c, later.of[c], later.at[c]);
    }
  }
  __device__ void exchange(int bits) {
    for (int c = 0; c < kVector; ++c) {
      of[c] = __shfl_xor_sync(~0U, of[c], bits);
      at[c] = __shfl_xor_sync(~0U, at[c], bits);
    }
  }
};

template <int kVector, bool kMax, bool kWeighted>
__device__ ColumnExtremes<kVector, kMax> extremes_of_entries(const OnDevice<SpmmArgs>& args, const RowShare& mine,
                                                             std::int64_t j, std::int64_t head) {
  ColumnExtremes<kVector, kMax> best;
  const EdgeId row_begin = args.pattern.offsets.data[mine.row];
  for (EdgeId k = mine.begin; k < mine.end; k += kEntriesAhead) {
    float rows[kEntriesAhead][kVector] = {};
    float weights[kEntriesAhead] = {};
    for (int i = 0; i < kEntriesAhead; ++i) {
      if (k + i >= mine.end) continue;
      load_columns<kVector, false>(args, args.pattern.indices.data[k + i], j, rows[i]);
      if constexpr (kWeighted) weights[i] = weight_of_entry(args, k + i, head);
    }
    for (int i = 0; i < kEntriesAhead; ++i) {
      if (k + i >= mine.end) continue;
      for (int c = 0; c < kVector; ++c) {
        const float term = kWeighted ? weights[i] * rows[i][c] : rows[i][c];
        best.take(c, term, static_cast<std::int32_t>(k + i - row_begin));
      }
    }
  }
  return best;
}

template <int kVector, bool kMax, bool kWeighted>
__global__ void __launch_bounds__(kRowThreads, 2)
    find_extremes(OnDevice<SpmmArgs> args, ColumnRange columns, RowShares shares, const NodeId* long_rows) {
  const RowShare mine = share_of_thread(args.pattern.offsets.data, shares, long_rows);
  const std::int64_t width = args.y.cols / args.heads;
  for (std::int64_t first = columns.begin; first < columns.end; first += shares.lanes * kVector) {
    const std::int64_t j = first + mine.lane * kVector;
    const bool works = mine.row >= 0 && j < columns.end;
    ColumnExtremes<kVector, kMax> best;
    if (works) best = extremes_of_entries<kVector, kMax, kWeighted>(args, mine, j, args.heads == 1 ? 0 : j / width);
    join_groups(shares, mine, best);
    if (!works || mine.group != 0) continue;
    for (int c = 0; c < kVector; ++c) {
      args.y.data[mine.row * args.y.stride + j + c] = best.of[c];
      if (args.arg.data != nullptr) args.arg.data[mine.row * args.arg.stride + j + c] = best.at[c];
    }
  }
}

/// Four columns of every row that is read or written lie together, and belong to one head.
bool takes_fours(const OnDevice<SpmmArgs>& args) {
  const bool halves = args.x_half.type != HalfType::kNone;
  const bool whole = args.y.cols % 4 == 0 && args.y.cols / args.heads % 4 == 0;
  const bool reads =
      halves ? lie_together(args.x_half.data, args.x_half.stride) : lie_together(args.x.data, args.x.stride);
  return whole && reads && (args.y_half.type != HalfType::kNone || lie_together(args.y.data, args.y.stride));
}

/// Calls `launch_panel` for each panel, with how its rows are shared.
template <class LaunchPanel>
void launch_panels(const DeviceContext& context, const OnDevice<SpmmArgs>& args, int vector,
                   const LaunchPanel& launch_panel) {
  const std::size_t element = args.x_half.type != HalfType::kNone ? sizeof(std::uint16_t) : sizeof(float);
  const std::int64_t sources = deciding_sizes(args.pattern).cols;
  const std::int64_t panel = panel_columns(sources, args.y.cols, static_cast<std::int64_t>(element));
  const RowShares shares = share_rows(args.pattern, panel, vector);
  const NodeId* long_rows = launch_find_long_rows(context, args.pattern.offsets.data, shares);
  for (std::int64_t j = 0; j < args.y.cols; j += panel)
    launch_panel(ColumnRange{j, std::min(j + panel, args.y.cols)}, shares, long_rows);
}

using SumKernel = void (*)(OnDevice<SpmmArgs>, ColumnRange, RowShares, const NodeId*, Epilogue);

template <int kVector, bool kHalves>
SumKernel kernel_by_weights(bool weighted) {
  return weighted ? sum_entries<kVector, kHalves, true> : sum_entries<kVector, kHalves, false>;
}

template <int kVector>
void launch_sums(const DeviceContext& context, const OnDevice<SpmmArgs>& args, const Epilogue& epilogue) {
  const bool weighted = args.w.size != 0;
  const SumKernel kernel = args.x_half.type != HalfType::kNone ? kernel_by_weights<kVector, true>(weighted)
                                                               : kernel_by_weights<kVector, false>(weighted);
  launch_panels(context, args, kVector, [&](ColumnRange columns, const RowShares& shares, const NodeId* long_rows) {
    const Launch shape = launch_of(shares, kRowThreads * sizeof(ColumnSums<kVector>));
    launch(context, kernel, shape, args, columns, shares, long_rows, epilogue);
  });
}

template <int kVector, bool kMax>
void launch_extremes(const DeviceContext& context, const OnDevice<SpmmArgs>& args) {
  const auto kernel = args.w.size != 0 ? find_extremes<kVector, kMax, true> : find_extremes<kVector, kMax, false>;
  launch_panels(context, args, kVector, [&](ColumnRange columns, const RowShares& shares, const NodeId* long_rows) {
    const Launch shape = launch_of(shares, kRowThreads * sizeof(ColumnExtremes<kVector, kMax>));
    launch(context, kernel, shape, args, columns, shares, long_rows);
  });
}

}  // namespace

std::size_t spmm_workspace(const OnDevice<SpmmArgs>& args) { return long_rows_workspace(args.pattern); }

void spmm(const DeviceContext& context, const OnDevice<SpmmArgs>& args) {
  if (args.reduce == Reduce::kMax || args.reduce == Reduce::kMin) {
    const bool is_max = args.reduce == Reduce::kMax;
    if (takes_fours(args))
      return is_max ? launch_extremes<4, true>(context, args) : launch_extremes<4, false>(context, args);
    return is_max ? launch_extremes<1, true>(context, args) : launch_extremes<1, false>(context, args);
  }
  const Epilogue epilogue = epilogue_of(context);
  const bool fours = takes_fours(args) && by_fours(epilogue);
  return fours ? launch_sums<4>(context, args, epilogue) : launch_sums<1>(context, args, epilogue);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
