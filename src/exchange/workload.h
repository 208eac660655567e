// What one of several devices sums up: its rows' edges, those from its own nodes apart from those from others', cut
// into pieces, and pieces dealt out to warps.
//
// A device owns a run of nodes. Ids are translated once, to a device and a row there, whatever the bounds. Every edge
// is in one piece, every piece in one unit, and a unit has about as many pieces of either kind as all have on average:
// local work hides the way of remote rows. Source: MGG (OSDI 2023), sections 3.1 to 3.3.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "graph/graph.h"

namespace gneiss::exchange {

/// Edges of one kind, compressed by the rows of the device that sums them up. In the order of the graph's edges.
struct VirtualGraph {
  Buffer<EdgeId> offsets;       ///< [rows + 1]
  Buffer<NodeId> source_rows;   ///< [edges] the source's row at its owner
  Buffer<std::uint8_t> owners;  ///< [edges] the device that owns the source; empty: this one

  std::int64_t edges() const { return static_cast<std::int64_t>(source_rows.size()); }
};

/// Consecutive edges of one row.
struct Piece {
  EdgeId begin = 0;
  NodeId row = 0;
  std::int32_t count = 0;

  bool operator==(const Piece&) const = default;
};

/// The most devices that a workload is made for: owners have 8 bits.
inline constexpr int kMostDevices = 256;

struct Workload {
  std::int64_t rows = 0;
  VirtualGraph local;   ///< from nodes of this device
  VirtualGraph remote;  ///< from nodes of others
  std::vector<Piece> local_pieces;
  std::vector<Piece> remote_pieces;

  std::int64_t edges() const { return local.edges() + remote.edges(); }
};

/// How rows are cut into pieces.
struct Cut {
  std::int32_t size = 16;  ///< the most edges of a piece; 0: a row is one piece of its kind
  /// Remote pieces end where the owner changes and are listed owner by owner: those of one owner can be summed up when
  /// its rows are there.
  bool by_owner = false;
};

/// The workload of one device.
///   starts   [devices + 1]: device p owns the nodes [starts[p], starts[p + 1])
/// Threads  the result does not depend on them. Cost: O(edges of the device + rows log(degree)).
/// Errors   kInternal for more than kMostDevices devices
Workload make_workload(const graph::Graph& graph, std::span<const std::int64_t> starts, int device, Cut cut,
                       int threads);

/// The pieces that one warp works on.
struct Unit {
  std::int64_t local_begin = 0;
  std::int64_t local_end = 0;
  std::int64_t remote_begin = 0;
  std::int64_t remote_end = 0;

  bool operator==(const Unit&) const = default;
};

/// With `dist` pieces of either kind a unit, if there are as many of both: ceil((local + remote) / (2 dist)).
std::int64_t num_units(std::int64_t local, std::int64_t remote, int dist);
/// The w-th of `units`: the pieces [w L / units, (w + 1) L / units) of L local ones, and so of the remote ones.
Unit unit_of(std::int64_t local, std::int64_t remote, std::int64_t units, std::int64_t w);

/// All of them: mixed in proportion.
std::vector<Unit> mixed_units(const Workload& work, int dist);
/// Units of `dist` local pieces, then units of `dist` remote ones: what mixing is compared with.
std::vector<Unit> separate_units(const Workload& work, int dist);
/// A unit for each row with edges. For pieces that are whole rows.
std::vector<Unit> row_units(const Workload& work);

/// Of a unit's remote edges, the distinct rows: what it fetches if it fetches each once. Summed over the units.
std::int64_t distinct_rows(const Workload& work, std::span<const Unit> units);

}  // namespace gneiss::exchange
