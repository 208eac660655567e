// Which aggregations run block by block of sources, or panel by panel of columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/plan.h"

namespace gneiss::planner {

/// Columns of a panel: two lines of a cache a row. Rows that are no wider are gathered whole.
inline constexpr std::int64_t kPanelColumns = 32;

/// Sources cut into blocks for sums along edges.
struct SourceCut {
  std::int64_t block = 0;  ///< sources in each
  double seconds = 0;      ///< modelled, of one sum
};

/// The largest block among the best, for sums of `columns` columns.
SourceCut source_blocks_for(const cost::Rates& rates, std::int64_t sources, std::int64_t rows, std::int64_t edges,
                            std::int64_t columns, const Near& near = {});

enum class SourceBlocking : std::uint8_t { kAuto, kOn, kOff };

/// Decides which patterns are cut by sources, and fills in_block, out_block and block_bytes of the plan's graph uses. A
/// pattern is cut once for all its sums and means, by modelled time for the widest x. Small blocks stay in a faster
/// cache; big ones begin fewer segments of rows. Of blocks that take about the same time the largest is chosen, and
/// auto leaves a pattern whole where that takes about as long. Only f32 plans are cut. GNEISS_KERNEL=spmm:cpu_blocked
/// turns cutting on, any other forced spmm off.
///
/// loss_blocks: of a pattern that is cut, the edges into rows of the loss are kept a second time, for the steps that
/// need no others. This is done where they are at most four fifths of all edges.
///
/// Sums of a step along patterns that auto leaves whole may get the attribute `panel`, by modelled time. So many
/// columns are copied and summed at a time, where a cache holds all rows of a panel but not of x.
///
/// `decisions` gets one sentence per pattern with sums.
void choose_source_blocks(ir::Plan* plan, SourceBlocking blocking, const cost::Rates& rates,
                          std::vector<std::string>* decisions);

}  // namespace gneiss::planner
