// Which aggregations run block by block of sources.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/plan.h"

namespace gneiss::passes {

enum class SourceBlocking : std::uint8_t { kAuto, kOn, kOff };

/// Fills in_block, out_block and block_bytes of the plan's graph uses.
///
/// A pattern is cut once for all its sums and means: so that a block of the widest x takes 4 MB (half of what a core
/// may call its own of a last-level cache, or less), up to 16 MB where that keeps a row's segments long. Auto cuts
/// where x is too big for a cache and a segment has at least 15 edges on average: reading and writing y once a block
/// costs about as much. GNEISS_KERNEL=spmm:cpu_blocked turns it on, any other forced spmm off. Only f32 plans are cut.
/// `decisions` gets one sentence per pattern with sums.
void choose_source_blocks(ir::Plan* plan, SourceBlocking blocking, std::vector<std::string>* decisions);

}  // namespace gneiss::passes
