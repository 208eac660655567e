// Aggregation on one of several devices whose sources lie partly with others: spmm by units of pieces, each of which a
// warp takes while remote rows come to it (device kernels alone; exchange/unit_tables.h cuts the edges).
//
// A device keeps entries from own rows apart from those from others' rows. Either kind is cut into pieces of rows; a
// unit has consecutive pieces of both. What a unit has of a row is a run: it is added up entry by entry. The first run
// of a row is kept where the row's sum will be, later ones in places of their own, and all are added in order at the
// end. So bits depend on the cut alone, and where a row has one run of each kind they are those of pieces that go on
// where the last one ended (spmm_pieces.h).
#pragma once

#include <cstdint>

#include "kernels/spmm.h"

namespace gneiss::kernels {

/// What of a row's sum lies where.
struct RowRuns {
  std::int32_t runs = 0;     ///< units that have pieces of the row; 0: nothing is added, nothing is written
  std::int32_t carried = 0;  ///< the place of its second run among carried sums; the others follow
};

/// One kind of entries, piece after piece, row after row.
template <Space S>
struct UnitEntriesIn {
  SpanIn<const EdgeId, S> offsets;          ///< [pieces + 1] the first entry of each piece
  SpanIn<const NodeId, S> rows;             ///< [pieces] the row of the sum
  SpanIn<const NodeId, S> sources;          ///< [entries] the row that is read, at its owner
  SpanIn<const std::uint8_t, S> owners;     ///< [entries] the device that has it; of others' entries alone
  SpanIn<const EdgeId, S> slots;            ///< [entries] where the weight is; empty without weights
  SpanIn<const std::int32_t, S> positions;  ///< [entries] where the entry stands in its row; of extremes alone
  SpanIn<const EdgeId, S> unit_at;          ///< [units + 1] the first piece of each unit
  SpanIn<const std::int32_t, S> carried;    ///< [units] where its first run goes if it is not the row's first; else -1
  SpanIn<const RowRuns, S> runs;            ///< [rows]
  std::int64_t carried_sums = 0;            ///< runs that are no row's first
};

/// Where a device's rows lie: row r at first + r * stride.
template <class T>
struct PeerRows {
  const T* first = nullptr;
  std::int64_t stride = 0;
};

/// How the warps of a block share its memory: offsets in bytes from a warp's first (exchange/resources.h).
struct UnitShape {
  std::int32_t piece = 16;      ///< the most entries of a piece
  std::int32_t warps = 8;       ///< of a block
  std::int32_t stages = 2;      ///< remote rows of a warp that are under way at once, 1 to 4
  std::int32_t sum = 0;         ///< where the ids of a piece end and the sum of a row lies
  std::int32_t landing = 0;     ///< where remote rows land, [stages, cols]
  std::int32_t warp_bytes = 0;  ///< of a warp
  bool fours = false;           ///< rows of all devices start at, and are, multiples of four elements
  bool blocking = false;        ///< a remote row is asked for when it is needed: what the others are compared with
};

/// Aggregates, over the entries of each row, rows of x and of the others' tables. In memory of a device alone.
///   as spmm, with x[index k] a row of x or peers[owner k][source k]
/// Shapes    sum.pattern: n rows; x: [own rows, heads·d]; y, arg: [n, heads·d]; tiles, halves and panel are unused
/// Aliasing  y, arg overlap nothing. Empty row: 0, arg -1. A y without data is kept for what follows alone.
/// Precision a run is added in order from 0, product and sum in one operation; then own runs in order, others' in
///           order, own + others, and spmm's factor. The same bits in every run of one cut. A sum of deg entries is
///           within 4 deg 2^-24 of the sum of their magnitudes; extremes are exact.
/// Cost      a row of the link for each entry from others
/// Source    MGG (OSDI 2023), section 3: neighbour pieces, mixing, landing buffers; runs instead of atomics
template <class T, Space S = Space::kHost>
struct SpmmUnitsArgs {
  /// The pattern has all entries of a row, of which the number counts alone; x are own rows; no arg for sums.
  SpmmArgs<T, S> sum;
  UnitEntriesIn<S> own;
  UnitEntriesIn<S> others;
  SpanIn<const PeerRows<T>, S> peers;  ///< [devices]
  UnitShape shape;
};

/// How many warps work on it.
template <class Args>
constexpr std::int64_t units_of(const Args& args) {
  return args.own.unit_at.size == 0 ? 0 : static_cast<std::int64_t>(args.own.unit_at.size) - 1;
}

}  // namespace gneiss::kernels
