// Which aggregations run tile by tile of sources, or panel by panel of columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/plan.h"

namespace gneiss::planner {

/// Columns of a panel: two lines of a cache a row. Rows that are no wider are gathered whole.
inline constexpr std::int64_t kPanelColumns = 32;

/// Sources cut into tiles for sums along edges.
struct SourceCut {
  std::int64_t tile = 0;  ///< sources in each
  double seconds = 0;     ///< modelled, of one sum
};

/// The largest tile among the best, for sums of `columns` columns.
SourceCut source_tiles_for(const cost::Rates& rates, std::int64_t sources, std::int64_t rows, std::int64_t edges,
                           std::int64_t columns, const Near& near = {});

enum class SourceTiling : std::uint8_t { kAuto, kOn, kOff };

/// Decides which patterns are cut by sources, and fills in_tile, out_tile and tile_bytes of the plan's graph uses. A
/// pattern is cut once for all its sums and means, by modelled time for the widest x. Small tiles stay in a faster
/// cache; big ones begin fewer segments of rows. Of tiles that take about the same time the largest is chosen, and
/// auto leaves a pattern whole where that takes about as long. Only f32 plans are cut. GNEISS_KERNEL=spmm:cpu_tiled
/// turns cutting on, any other forced spmm off.
///
/// loss_tiles: of a pattern that is cut, the edges into rows of the loss are kept a second time, for the steps that
/// need no others. This is done where they are at most four fifths of all edges.
///
/// Sums of a step along patterns that auto leaves whole may get the attribute `panel`, by modelled time. So many
/// columns are copied and summed at a time, where a cache holds all rows of a panel but not of x.
///
/// `decisions` gets one sentence per pattern with sums.
void choose_source_tiles(ir::Plan* plan, SourceTiling tiling, const cost::Rates& rates,
                         std::vector<std::string>* decisions);

}  // namespace gneiss::planner
