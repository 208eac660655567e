// Sums on one of several devices, by a warp for each unit of pieces. A lane has the same columns in all it does: it
// begins to copy them of the next remote rows, adds pieces of own rows while these are on their way, waits for the
// oldest, adds it from where it landed, and asks for the next in its place. No lane reads what another copied, so that
// a warp has no barrier on that way; and none in the whole launch waits for another warp.
//
// A row that several units have pieces of has a run in each; a second kernel adds runs in order, own ones and others'
// apart, and then the two. Nothing is added by atomics.
// Source: MGG (OSDI 2023), Algorithm 1, which as printed never ends, and whose code waits for each remote row.
#include "kernels/spmm_units.h"

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/row_shares.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

using UnitsArgs = OnDevice<SpmmUnitsArgs>;
using UnitEntries = UnitEntriesIn<Space::kDevice>;

constexpr int kOwnRowsAhead = 8;

/// One kind of entries and where its sums go.
struct UnitHalf {
  UnitEntries entries;
  float* sums = nullptr;  ///< [rows, stride] first runs
  std::int64_t stride = 0;
  float* carried = nullptr;  ///< [carried_sums, cols]
  std::int32_t* winners = nullptr;
  std::int64_t winner_stride = 0;
  std::int32_t* carried_winners = nullptr;
};

/// What a run adds to.
struct RunTarget {
  float* sum = nullptr;
  std::int32_t* winner = nullptr;
};

__device__ RunTarget target_of(const UnitHalf& half, std::int64_t unit, EdgeId piece, std::int64_t cols) {
  const NodeId row = half.entries.rows.data[piece];
  const std::int32_t place = half.entries.carried.data[unit];
  const bool first_run = row == half.entries.rows.data[half.entries.unit_at.data[unit]];
  const bool extreme = half.winners != nullptr;
  if (place >= 0 && first_run)
    return {half.carried + place * cols, extreme ? half.carried_winners + place * cols : nullptr};
  return {half.sums + row * half.stride, extreme ? half.winners + row * half.winner_stride : nullptr};
}

/// Does the piece go on with a run that the unit has begun?
__device__ bool goes_on(const UnitEntries& entries, EdgeId first, EdgeId piece) {
  return piece > first && entries.rows.data[piece] == entries.rows.data[piece - 1];
}

__device__ bool wins_over(Reduce reduce, float value, std::int32_t position, float best, std::int32_t winner) {
  if (winner < 0) return position >= 0;
  if (position < 0) return false;
  return (reduce == Reduce::kMax ? value > best : value < best) || (value == best && position < winner);
}

/// What a lane has of a run, in kVector neighbouring columns.
template <int kVector, bool kWeighted, bool kExtreme>
struct RunPart {
  float of[kVector] = {};
  std::int32_t winner[kVector];

  __device__ RunPart() {
    for (int c = 0; c < kVector; ++c) winner[c] = -1;
  }
  __device__ void load(const float* sum, const std::int32_t* winners, std::int64_t j) {
    load_vector<kVector>(sum + j, of);
    for (int c = 0; kExtreme && c < kVector; ++c) winner[c] = winners[j + c];
  }
  __device__ void store(float* sum, std::int32_t* winners, std::int64_t j) const {
    store_vector<kVector>(of, sum + j);
    for (int c = 0; kExtreme && c < kVector; ++c) winners[j + c] = winner[c];
  }
  __device__ void add(const float* x, float weight, std::int32_t position, Reduce reduce) {
    for (int c = 0; c < kVector; ++c) {
      if constexpr (kExtreme) {
        const float term = kWeighted ? weight * x[c] : x[c];
        if (!wins_over(reduce, term, position, of[c], winner[c])) continue;
        of[c] = term;
        winner[c] = position;
      } else {
        of[c] = kWeighted ? fmaf(weight, x[c], of[c]) : of[c] + x[c];
      }
    }
  }
};

template <bool kWeighted>
__device__ float weight_in_unit(const UnitsArgs& args, const UnitEntries& entries, EdgeId k, std::int64_t j) {
  if constexpr (!kWeighted) return 1;
  const std::int64_t head = args.sum.heads == 1 ? 0 : j / (args.sum.y.cols / args.sum.heads);
  return args.sum.w.data[entries.slots.data[k] * args.sum.heads + head];
}

/// What a warp works with.
struct UnitWarp {
  std::int64_t unit = 0;
  int lane = 0;
  std::int32_t* ids = nullptr;  ///< [piece]
  float* sum = nullptr;         ///< [cols] of the run of others' rows
  float* landing = nullptr;     ///< [stages, cols]
};

template <int kVector, bool kWeighted, bool kExtreme>
__device__ void add_own_piece(const UnitsArgs& args, const UnitHalf& half, const UnitWarp& warp, EdgeId first,
                              EdgeId piece) {
  const UnitEntries& entries = half.entries;
  const std::int64_t cols = args.sum.y.cols;
  const EdgeId begin = entries.offsets.data[piece];
  const auto count = static_cast<int>(entries.offsets.data[piece + 1] - begin);
  __syncwarp();  // nobody reads the ids of the last piece any more
  for (int i = warp.lane; i < count; i += 32) warp.ids[i] = entries.sources.data[begin + i];
  __syncwarp();
  const RunTarget to = target_of(half, warp.unit, piece, cols);
  const bool more = goes_on(entries, first, piece);
  for (std::int64_t j = warp.lane * kVector; j < cols; j += 32 * kVector) {
    RunPart<kVector, kWeighted, kExtreme> part;
    if (more) part.load(to.sum, to.winner, j);
    for (int k = 0; k < count; k += kOwnRowsAhead) {
      float rows[kOwnRowsAhead][kVector] = {};
      for (int i = 0; i < kOwnRowsAhead; ++i) {
        if (k + i < count) load_vector<kVector>(args.sum.x.data + warp.ids[k + i] * args.sum.x.stride + j, rows[i]);
      }
      for (int i = 0; i < kOwnRowsAhead; ++i) {
        if (k + i >= count) continue;
        const EdgeId entry = begin + k + i;
        part.add(rows[i], weight_in_unit<kWeighted>(args, entries, entry, j),
                 kExtreme ? entries.positions.data[entry] : 0, args.sum.reduce);
      }
    }
    part.store(to.sum, to.winner, j);
  }
}

/// Where the row of an entry lies with its owner.
__device__ const float* row_address(const UnitsArgs& args, EdgeId k) {
  const PeerRows<float> peer = args.peers.data[args.others.owners.data[k]];
  return peer.first + args.others.sources.data[k] * peer.stride;
}

/// Remote rows of a unit in the order in which they are added: some are on their way.
template <int kVector>
struct RowStream {
  const UnitsArgs& args;
  const UnitWarp& warp;
  EdgeId next;        ///< the first that was not asked for
  EdgeId end;         ///< of the unit
  int stage = 0;      ///< where it will land
  const float* from;  ///< where it lies: looked up one row before it is needed

  __device__ RowStream(const UnitsArgs& args_in, const UnitWarp& warp_in, EdgeId first, EdgeId end_in)
      : args(args_in),
        warp(warp_in),
        next(first),
        end(end_in),
        from(first < end_in ? row_address(args, first) : nullptr) {
    for (int s = 0; !args.shape.blocking && s < args.shape.stages; ++s) ask();
  }

  /// Begins to copy the next row; a group is closed in any case, so that the oldest is always as many groups back.
  __device__ void ask() {
    if (next < end) {
      float* const to = warp.landing + stage * args.sum.y.cols;
      for (std::int64_t j = warp.lane * kVector; j < args.sum.y.cols; j += 32 * kVector)
        __pipeline_memcpy_async(to + j, from + j, kVector * sizeof(float));
      if (next + 1 < end) from = row_address(args, next + 1);
    }
    __pipeline_commit();
    ++next;
    stage = stage + 1 == args.shape.stages ? 0 : stage + 1;
  }
  /// Waits for the oldest row; returns where it is.
  __device__ const float* wait() {
    if (args.shape.blocking) {
      const int landed = stage;
      ask();
      __pipeline_wait_prior(0);
      return warp.landing + landed * args.sum.y.cols;
    }
    __pipeline_wait_prior(static_cast<std::size_t>(args.shape.stages - 1));
    return warp.landing + stage * args.sum.y.cols;
  }
  /// What wait gave was read: another row may take its place.
  __device__ void free() {
    if (!args.shape.blocking) ask();
  }
};

template <int kVector, bool kWeighted, bool kExtreme>
__device__ void add_others_piece(const UnitsArgs& args, const UnitHalf& half, const UnitWarp& warp, EdgeId first,
                                 EdgeId end, EdgeId piece, RowStream<kVector>& stream) {
  const UnitEntries& entries = half.entries;
  const std::int64_t cols = args.sum.y.cols;
  const RunTarget to = target_of(half, warp.unit, piece, cols);
  bool more = goes_on(entries, first, piece);
  for (EdgeId k = entries.offsets.data[piece]; k < entries.offsets.data[piece + 1]; ++k) {
    const float* const landed = stream.wait();
    for (std::int64_t j = warp.lane * kVector; j < cols; j += 32 * kVector) {
      RunPart<kVector, kWeighted, kExtreme> part;
      if (more) part.load(warp.sum, to.winner, j);
      float x[kVector];
      load_vector<kVector>(landed + j, x);
      part.add(x, weight_in_unit<kWeighted>(args, entries, k, j), kExtreme ? entries.positions.data[k] : 0,
               args.sum.reduce);
      part.store(warp.sum, to.winner, j);
    }
    stream.free();
    more = true;
  }
  if (piece + 1 < end && goes_on(entries, first, piece + 1)) return;
  for (std::int64_t j = warp.lane * kVector; j < cols; j += 32 * kVector) {
    float x[kVector];
    load_vector<kVector>(warp.sum + j, x);
    store_vector<kVector>(x, to.sum + j);
  }
}

/// The w-th of `parts` runs of [begin, end).
__device__ EdgeId part_of(EdgeId begin, EdgeId end, EdgeId parts, EdgeId w) {
  return begin + (end - begin) * w / parts;
}

template <int kVector, bool kWeighted, bool kExtreme>
__global__ void take_units(const __grid_constant__ UnitsArgs args, const __grid_constant__ UnitHalf own,
                           const __grid_constant__ UnitHalf others) {
  const auto in_block = static_cast<int>(threadIdx.x / 32);
  UnitWarp warp;
  warp.unit = static_cast<std::int64_t>(blockIdx.x) * args.shape.warps + in_block;
  if (warp.unit >= units_of(args)) return;
  warp.lane = static_cast<int>(threadIdx.x % 32);
  unsigned char* const mine = shared_memory<unsigned char>() + in_block * args.shape.warp_bytes;
  warp.ids = reinterpret_cast<std::int32_t*>(mine);
  warp.sum = reinterpret_cast<float*>(mine + args.shape.sum);
  warp.landing = reinterpret_cast<float*>(mine + args.shape.landing);
  const EdgeId own_begin = args.own.unit_at.data[warp.unit];
  const EdgeId own_end = args.own.unit_at.data[warp.unit + 1];
  const EdgeId begin = args.others.unit_at.data[warp.unit];
  const EdgeId end = args.others.unit_at.data[warp.unit + 1];
  RowStream<kVector> stream(args, warp, begin < end ? args.others.offsets.data[begin] : 0,
                            begin < end ? args.others.offsets.data[end] : 0);
  const EdgeId turns = own_end - own_begin > end - begin ? own_end - own_begin : end - begin;
  for (EdgeId turn = 0; turn < turns; ++turn) {
    for (EdgeId p = part_of(own_begin, own_end, turns, turn); p < part_of(own_begin, own_end, turns, turn + 1); ++p)
      add_own_piece<kVector, kWeighted, kExtreme>(args, own, warp, own_begin, p);
    for (EdgeId p = part_of(begin, end, turns, turn); p < part_of(begin, end, turns, turn + 1); ++p)
      add_others_piece<kVector, kWeighted, kExtreme>(args, others, warp, begin, end, p, stream);
  }
}

/// What all runs of a row of one kind give in column j.
__device__ RunPart<1, false, true> joined_runs(const UnitHalf& half, std::int64_t row, std::int64_t j,
                                               std::int64_t cols, Reduce reduce) {
  const bool extreme = reduce == Reduce::kMax || reduce == Reduce::kMin;
  const RowRuns runs = half.entries.runs.data[row];
  RunPart<1, false, true> all;
  if (runs.runs == 0) return all;
  all.of[0] = half.sums[row * half.stride + j];
  if (extreme) all.winner[0] = half.winners[row * half.winner_stride + j];
  for (std::int64_t place = runs.carried; place < runs.carried + runs.runs - 1; ++place) {
    const float later = half.carried[place * cols + j];
    if (extreme) {
      all.add(&later, 1, half.carried_winners[place * cols + j], reduce);
    } else {
      all.of[0] += later;
    }
  }
  return all;
}

__global__ void join_unit_runs(const __grid_constant__ UnitsArgs args, const __grid_constant__ UnitHalf own,
                               const __grid_constant__ UnitHalf others, int lanes,
                               const __grid_constant__ Epilogue epilogue) {
  const std::int64_t cols = args.sum.y.cols;
  const Reduce reduce = args.sum.reduce;
  const bool extreme = reduce == Reduce::kMax || reduce == Reduce::kMin;
  for (std::int64_t i = first_item(); i < args.sum.y.rows * lanes; i += item_step()) {
    const std::int64_t v = i / lanes;
    const EdgeId length = args.sum.pattern.offsets.data[v + 1] - args.sum.pattern.offsets.data[v];
    float factor = reduce == Reduce::kMean && length > 0 ? 1.0F / static_cast<float>(length) : 1.0F;
    if (args.sum.scales.rows != 0) factor *= args.sum.scales.data[v * args.sum.scales.stride];
    for (std::int64_t j = i - v * lanes; j < cols; j += lanes) {
      RunPart<1, false, true> all = joined_runs(own, v, j, cols, reduce);
      const RunPart<1, false, true> remote = joined_runs(others, v, j, cols, reduce);
      if (extreme) {
        all.add(remote.of, 1, remote.winner[0], reduce);
        if (args.sum.arg.data != nullptr) args.sum.arg.data[v * args.sum.arg.stride + j] = all.winner[0];
      } else {
        all.of[0] = (all.of[0] + remote.of[0]) * factor;
      }
      if (args.sum.y.data != nullptr) args.sum.y.data[v * args.sum.y.stride + j] = all.of[0];
      run_epilogue<1>(epilogue, v, static_cast<std::uint32_t>(j), all.of);
    }
  }
}

/// Scratch: first runs of others and, where the sum itself has no place, of own entries, carried ones of both kinds,
/// and the winners of all four.
struct UnitScratch {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t own_carried;
  std::int64_t others_carried;
  bool extreme;
  bool has_place;  ///< the sum, beside what follows it

  explicit UnitScratch(const UnitsArgs& args)
      : rows(args.sum.y.rows),
        cols(args.sum.y.cols),
        own_carried(args.own.carried_sums),
        others_carried(args.others.carried_sums),
        extreme(args.sum.reduce == Reduce::kMax || args.sum.reduce == Reduce::kMin),
        has_place(args.sum.y.data != nullptr) {}

  /// A place of so many rows, 256 bytes apart from the next.
  static std::int64_t place(std::int64_t rows, std::int64_t cols) { return (rows * cols + 63) / 64 * 64; }
  std::int64_t elements() const {
    const std::int64_t sums = place(rows, cols) + place(own_carried, cols) + place(others_carried, cols);
    const std::int64_t first_own = place(rows, cols);
    return (extreme ? 2 * sums + first_own : sums) + (has_place ? 0 : first_own);
  }
  void take(float* from, const UnitsArgs& args, UnitHalf* own, UnitHalf* others) const {
    const auto next = [&](std::int64_t count) {
      float* const at = from;
      from += place(count, cols);
      return at;
    };
    const auto next_winners = [&](std::int64_t count) { return reinterpret_cast<std::int32_t*>(next(count)); };
    own->entries = args.own;
    own->sums = has_place ? args.sum.y.data : next(rows);
    own->stride = has_place ? args.sum.y.stride : cols;
    own->carried = next(own_carried);
    others->entries = args.others;
    others->sums = next(rows);
    others->stride = cols;
    others->carried = next(others_carried);
    if (!extreme) return;
    own->winners = next_winners(rows);
    own->carried_winners = next_winners(own_carried);
    others->winners = next_winners(rows);
    others->carried_winners = next_winners(others_carried);
    own->winner_stride = cols;
    others->winner_stride = cols;
  }
};

using UnitKernel = void (*)(UnitsArgs, UnitHalf, UnitHalf);

template <int kVector>
UnitKernel unit_kernel(bool weighted, bool extreme) {
  if (extreme) return weighted ? take_units<kVector, true, true> : take_units<kVector, false, true>;
  return weighted ? take_units<kVector, true, false> : take_units<kVector, false, false>;
}

}  // namespace

std::size_t spmm_units_workspace(const OnDevice<SpmmUnitsArgs>& args) {
  return static_cast<std::size_t>(UnitScratch(args).elements()) * sizeof(float);
}

void spmm_units(const DeviceContext& context, const OnDevice<SpmmUnitsArgs>& args) {
  const UnitScratch scratch(args);
  UnitHalf own;
  UnitHalf others;
  scratch.take(reinterpret_cast<float*>(context.workspace.data), args, &own, &others);
  const bool weighted = args.sum.w.size != 0;
  const UnitKernel kernel =
      args.shape.fours ? unit_kernel<4>(weighted, scratch.extreme) : unit_kernel<1>(weighted, scratch.extreme);
  Launch shape;
  shape.blocks = (units_of(args) + args.shape.warps - 1) / args.shape.warps;
  shape.threads = static_cast<unsigned>(args.shape.warps) * 32;
  shape.shared_bytes = static_cast<std::size_t>(args.shape.warps) * static_cast<std::size_t>(args.shape.warp_bytes);
  launch(context, kernel, shape, args, own, others);
  const int lanes = lanes_for(args.sum.y.cols);
  launch(context, join_unit_runs, launch_over(context, args.sum.y.rows * lanes), args, own, others, lanes,
         epilogue_of(context));
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
