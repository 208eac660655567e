// The edges of one sum over in-edges on one device, cut for an exchange: those from own nodes apart from those from
// others' (the paper's virtual graphs), in pieces of rows.
//
// A row's remote entries are ordered by their owners, whatever the exchange. A sum adds own entries and remote ones
// apart, each in this order, and then the two: so `stream` and `fine` have the same bits, with any numbers of the
// tuner. Source: MGG (OSDI 2023), sections 3.1 to 3.3; a row is fetched once for a unit, not once for an edge.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/matrix_view.h"
#include "comm/halo.h"
#include "exchange/resources.h"

namespace gneiss::exchange {

/// Pieces of rows with copies of their entries, piece after piece.
struct PieceList {
  Buffer<EdgeId> offsets;          ///< [pieces + 1]
  Buffer<NodeId> rows;             ///< [pieces] the row of the sum
  Buffer<NodeId> sources;          ///< [entries] the row of the table that is read
  Buffer<EdgeId> slots;            ///< [entries] where the weight is; empty without weights
  Buffer<std::int32_t> positions;  ///< [entries] where the entry stands in its row; of extremes alone

  std::int64_t pieces() const { return static_cast<std::int64_t>(rows.size()); }
  std::int64_t bytes() const;
  SparsePattern pattern(std::int64_t table_rows) const;
};

/// The rows that an entry from a ghost is in, ascending. Columns from `owned` on are ghosts.
std::vector<NodeId> rows_with_ghosts(const SparsePattern& edges, std::int64_t owned);

/// What the op that sums up needs besides the ids.
struct SumNeeds {
  bool weights = false;
  bool extreme = false;
};

/// Whole rows and runs of one owner. Remote sources are rows of the table with ghosts.
struct StreamPieces {
  PieceList local;
  PieceList remote;                    ///< owner by owner
  std::vector<std::int64_t> owner_at;  ///< [devices + 1] the first remote piece of each owner

  std::int64_t bytes() const { return local.bytes() + remote.bytes(); }
};
StreamPieces stream_pieces(const SparsePattern& edges, const comm::HaloPlan& halo, SumNeeds needs);

/// Pieces of at most tuning.piece entries. A unit has a run of both kinds in proportion; a block are tuning.warps units
/// whose rows are fetched and summed up together. Remote sources are places among the rows that a block fetches: by
/// owner, by unit, each row once for a unit.
struct FinePieces {
  Tuning tuning;
  PieceList local;
  PieceList remote;
  std::vector<std::int64_t> local_at;   ///< [blocks + 1] the first local piece of each block
  std::vector<std::int64_t> remote_at;  ///< [blocks + 1]
  Buffer<NodeId> wanted;                ///< rows at their owners, in the order in which they land
  std::vector<std::int64_t> wanted_at;  ///< [blocks devices + 1] the first in `wanted` for each block and owner
  std::int64_t most_landing = 0;        ///< the most rows of a block

  std::int64_t blocks() const { return static_cast<std::int64_t>(local_at.size()) - 1; }
  /// For which there must be room: those of all blocks under way.
  std::int64_t landing_rows() const { return most_landing * tuning.stages; }
  std::int64_t bytes() const;
  /// [devices] rows that are fetched in one sum.
  std::vector<std::int64_t> rows_from(int devices) const;
};
/// Errors: kInternal for numbers of the tuning below 1
FinePieces fine_pieces(const SparsePattern& edges, const comm::HaloPlan& halo, const Tuning& tuning, SumNeeds needs);

}  // namespace gneiss::exchange
