// Pass "overlap": exchanges between ranks in two halves, with what does not need them in between.
#pragma once

#include "ir/program.h"

namespace gneiss::passes {

/// halo -> halo_start where its rows are ready and halo_wait before the first op that reads them; halo_add likewise.
/// Behind the start of a halo_add go all ops of its phase that do not need it. The setup phase stays as it is. Sums
/// keep their order, so that bits do not change.
///   packed  rows that the rank sends to others and receives from them
ir::Program overlap_exchanges(const ir::Program& program, std::int64_t packed);

}  // namespace gneiss::passes
