// What devices fetch of each other in each phase of a plan, to the row.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/matrix_view.h"
#include "comm/halo.h"
#include "exchange/exchange.h"
#include "exchange/resources.h"
#include "ir/program.h"

namespace gneiss::exchange {

/// What one op fetches on one device.
struct Fetch {
  ir::Phase phase = ir::Phase::kForward;
  Exchange how = Exchange::kHalo;
  bool sums = false;  ///< partial sums that others made for own rows, on the way back; else rows of ghosts
  std::int64_t columns = 0;
  std::vector<std::int64_t> rows_from;  ///< [devices]
};

/// Who sums: by the exchange fine, a kernel of a card fetches a row for every edge from others, a host one for a unit.
enum class SumsBy : std::uint8_t { kHost, kCard };

/// Of every op of a device's program that fetches, in order. Evaluations run the inference phase.
///   halo      of the device; of its lists receive_at, send_at and, for fine, ghost_rows are read
///   in_edges  of a graph of the program
std::vector<Fetch> fetches_of(const ir::Program& program, const comm::HaloPlan& halo, const Tuning& tuning,
                              const std::function<SparsePattern(std::int32_t graph)>& in_edges,
                              SumsBy by = SumsBy::kHost);

/// Bytes of f32 rows that these fetch in one run of a phase, by device.
std::vector<std::int64_t> bytes_from(const std::vector<Fetch>& fetches, ir::Phase phase);

}  // namespace gneiss::exchange
