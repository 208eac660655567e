// What a device or a rank takes besides its plan's values, because it takes up others' rows: edges in another order, or
// in pieces, and room for rows that come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "base/matrix_view.h"
#include "comm/halo.h"
#include "exchange/resources.h"
#include "ir/plan.h"

namespace gneiss::runtime {

struct ExchangeBytes {
  std::int64_t setup = 0;  ///< while the setup phase runs
  std::int64_t steps = 0;  ///< from then on

  std::int64_t most() const { return std::max(setup, steps); }
  bool operator==(const ExchangeBytes&) const = default;
};

/// Is the op a sum over in-edges that one device would add up in the order of the whole graph's nodes? Tiles of sources
/// have an order of their own.
bool adds_in_order(const ir::Plan& plan, const ir::Op& op);
/// Does any such sum over the graph read weights of its edges?
bool weighs_in_order(const ir::Plan& plan, std::int64_t graph);

/// How rows of others come.
struct RowsFrom {
  bool fetched = false;                             ///< read where others have them; else sent
  exchange::Tuning tuning = {};                     ///< of fine
  std::span<const std::int64_t> source_order = {};  ///< as Resources::source_order
};

/// What an executor of the plan would take, to the byte.
///   halo      its lists receive_at and, for fine, ghost_rows are read
///   in_edges  of a graph of the program
ExchangeBytes exchange_bytes(const ir::Plan& plan, const comm::HaloPlan& halo, const RowsFrom& from,
                             const std::function<SparsePattern(std::int32_t graph)>& in_edges, int threads);

}  // namespace gneiss::runtime
