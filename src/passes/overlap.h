// Pass "overlap": exchanges between ranks in two halves, with what does not need them in between.
#pragma once

#include <string>
#include <vector>

#include "exchange/exchange.h"
#include "ir/program.h"

namespace gneiss::passes {

/// halo -> halo_start where its rows are ready and halo_wait before the first op that reads them; halo_add likewise.
/// Behind the start of a halo_add go all ops of its phase that do not need it. The setup phase stays as it is. Sums
/// keep their order, so that bits do not change.
///   packed    rows that the rank sends to others and receives from them
///   exchange  of devices that fetch rows. With stream the first sum over in-edges (spmm) that reads the rows of a halo
///             takes them up as they come, if nothing reads them before; with fine all that read them are such sums,
///             and each fetches its own. These ops and their halo_start have the attribute `exchange`; the wait stands
///             behind them. Other ops wait for all rows, as with halo: `*decisions` says which.
ir::Program overlap_exchanges(const ir::Program& program, std::int64_t packed,
                              exchange::Exchange exchange = exchange::Exchange::kHalo,
                              std::vector<std::string>* decisions = nullptr);

}  // namespace gneiss::passes
