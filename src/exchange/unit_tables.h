// The pieces of the exchange fine, as the kernel of a device reads them (kernels/spmm_units.h).
//
// It fetches a row for each entry from others, straight from its owner, so that what FinePieces says of landing rows is
// read back to an owner and a row there. What a unit has of a row is a run; later runs of a row get a place each.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "exchange/sum_pieces.h"
#include "kernels/spmm_units.h"

namespace gneiss::exchange {

/// How units share the pieces of one kind.
struct UnitTable {
  Buffer<EdgeId> unit_at;         ///< [units + 1] the first piece
  Buffer<std::int32_t> carried;   ///< [units] where the first run goes if a unit before has begun its row; else -1
  Buffer<kernels::RowRuns> runs;  ///< [rows]
  std::int64_t carried_sums = 0;  ///< how many do

  std::int64_t bytes() const;
};

struct UnitTables {
  UnitTable own;
  UnitTable others;
  Buffer<NodeId> sources;       ///< [entries from others] rows at their owners
  Buffer<std::uint8_t> owners;  ///< likewise, the device

  std::int64_t units() const { return static_cast<std::int64_t>(own.unit_at.size()) - 1; }
  std::int64_t bytes() const;
};

/// For a sum of `rows` rows on one of `devices`. Errors: kInternal for more than kMostDevices devices, or for more
/// runs than 31 bits count.
UnitTables unit_tables(const FinePieces& pieces, std::int64_t rows, int devices);

/// How a block shares its memory. `fours`: rows of all devices, of x and of y start at multiples of four elements, and
/// so do heads. Errors: kInternal for numbers outside kMostTuning
kernels::UnitShape unit_shape(const Tuning& tuning, std::int64_t columns, bool fours);

}  // namespace gneiss::exchange
