// One pass over the pieces of each kind finds where units and rows change.
#include "exchange/unit_tables.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "exchange/workload.h"

namespace gneiss::exchange {
namespace {

/// `unit(w)`: the pieces [first, second) of the w-th of `units`.
template <class PiecesOf>
UnitTable table_of(const PieceList& list, std::int64_t rows, std::int64_t units, const PiecesOf& unit) {
  UnitTable made;
  made.unit_at = Buffer<EdgeId>(static_cast<std::size_t>(units) + 1);
  made.carried = Buffer<std::int32_t>(static_cast<std::size_t>(units));
  made.runs = Buffer<kernels::RowRuns>(static_cast<std::size_t>(rows));
  std::fill(made.runs.begin(), made.runs.end(), kernels::RowRuns{});
  made.unit_at[0] = 0;
  for (std::int64_t w = 0; w < units; ++w) {
    const auto [begin, end] = unit(w);
    const auto at = static_cast<std::size_t>(w);
    made.unit_at[at + 1] = end;
    made.carried[at] = -1;
    for (EdgeId p = begin; p < end; ++p) {
      const NodeId row = list.rows[static_cast<std::size_t>(p)];
      if (p > begin && list.rows[static_cast<std::size_t>(p) - 1] == row) continue;
      kernels::RowRuns& runs = made.runs[static_cast<std::size_t>(row)];
      if (runs.runs == 1) runs.carried = static_cast<std::int32_t>(made.carried_sums);
      if (runs.runs >= 1) made.carried[at] = static_cast<std::int32_t>(made.carried_sums++);
      ++runs.runs;
    }
  }
  GNEISS_ASSERT(made.carried_sums <= std::numeric_limits<std::int32_t>::max(), "{} runs of rows", made.carried_sums);
  return made;
}

}  // namespace

std::int64_t UnitTable::bytes() const {
  return static_cast<std::int64_t>(unit_at.size_bytes() + carried.size_bytes() + runs.size_bytes());
}

std::int64_t UnitTables::bytes() const {
  return own.bytes() + others.bytes() + static_cast<std::int64_t>(sources.size_bytes() + owners.size_bytes());
}

UnitTables unit_tables(const FinePieces& pieces, std::int64_t rows, int devices) {
  GNEISS_ASSERT(devices <= kMostDevices, "{} devices", devices);
  const std::int64_t local = pieces.local.pieces();
  const std::int64_t remote = pieces.remote.pieces();
  const std::int64_t units = num_units(local, remote, pieces.tuning.dist);
  UnitTables made;
  made.own = table_of(pieces.local, rows, units, [&](std::int64_t w) {
    const Unit unit = unit_of(local, remote, units, w);
    return std::pair<EdgeId, EdgeId>(unit.local_begin, unit.local_end);
  });
  made.others = table_of(pieces.remote, rows, units, [&](std::int64_t w) {
    const Unit unit = unit_of(local, remote, units, w);
    return std::pair<EdgeId, EdgeId>(unit.remote_begin, unit.remote_end);
  });
  made.sources = Buffer<NodeId>(pieces.remote.sources.size());
  made.owners = Buffer<std::uint8_t>(pieces.remote.sources.size());
  for (std::int64_t b = 0; b < pieces.blocks(); ++b) {
    const auto at = static_cast<std::size_t>(b);
    const auto first = pieces.wanted_at.begin() + static_cast<std::ptrdiff_t>(b * devices);
    const auto piece = [&](std::int64_t p) { return pieces.remote.offsets[static_cast<std::size_t>(p)]; };
    for (EdgeId k = piece(pieces.remote_at[at]); k < piece(pieces.remote_at[at + 1]); ++k) {
      const auto entry = static_cast<std::size_t>(k);
      const std::int64_t place = *first + pieces.remote.sources[entry];
      const auto owner = std::upper_bound(first, first + devices + 1, place) - first - 1;
      made.owners[entry] = static_cast<std::uint8_t>(owner);
      made.sources[entry] = pieces.wanted[static_cast<std::size_t>(place)];
    }
  }
  return made;
}

kernels::UnitShape unit_shape(const Tuning& tuning, std::int64_t columns, bool fours) {
  const auto within = [](int number, int most) { return number >= 1 && number <= most; };
  GNEISS_ASSERT(within(tuning.piece, kMostTuning.piece) && within(tuning.dist, kMostTuning.dist) &&
                    within(tuning.warps, kMostTuning.warps) && within(tuning.stages, kMostTuning.stages),
                "no kernel takes pieces of {}, {} a unit, {} warps and {} stages", tuning.piece, tuning.dist,
                tuning.warps, tuning.stages);
  const SharedLayout layout = shared_layout(tuning, columns);
  kernels::UnitShape shape;
  shape.piece = tuning.piece;
  shape.warps = tuning.warps;
  shape.stages = tuning.stages;
  shape.sum = static_cast<std::int32_t>(layout.sum);
  shape.landing = static_cast<std::int32_t>(layout.landing);
  shape.warp_bytes = static_cast<std::int32_t>(layout.bytes);
  shape.fours = fours && columns % 4 == 0 && layout.sum % 16 == 0 && layout.bytes % 16 == 0;
  return shape;
}

}  // namespace gneiss::exchange
