// What a device or a rank takes besides its plan's values, because it takes up others' rows as they come: edges in
// pieces, and room for rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/matrix_view.h"
#include "comm/halo.h"
#include "exchange/resources.h"
#include "ir/plan.h"

namespace gneiss::runtime {

/// What an executor of the plan would take, to the byte.
///   fetched   rows are read where others have them; else sent
///   tuning    of fine
///   halo      its lists receive_at and, for fine, ghost_rows are read
///   in_edges  of a graph of the program
std::int64_t exchange_bytes(const ir::Plan& plan, const comm::HaloPlan& halo, bool fetched,
                            const exchange::Tuning& tuning,
                            const std::function<SparsePattern(std::int32_t graph)>& in_edges);

}  // namespace gneiss::runtime
