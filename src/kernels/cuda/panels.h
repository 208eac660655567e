// When a device's spmm takes its columns panel by panel. What plans model goes by the same rule.
#pragma once

#include <cstdint>

namespace gneiss::kernels {

/// A panel of a row is a line of the cache.
inline constexpr std::int64_t kPanelBytes = 128;
/// What an L2 cache holds of a table that rows are gathered from: those of an A100, an H100 and an H200 have 40 to 50
/// MB.
inline constexpr std::int64_t kCachedTableBytes = std::int64_t{32} << 20;

/// Columns that are taken at a time of `columns` columns of `element` bytes, from a table of `sources` rows: a panel
/// where the cache holds one of the table, and not the whole; else all.
constexpr std::int64_t panel_columns(std::int64_t sources, std::int64_t columns, std::int64_t element) {
  const std::int64_t panel = kPanelBytes / element;
  const bool whole = sources * columns * element <= kCachedTableBytes;
  return whole || sources * kPanelBytes > kCachedTableBytes || columns <= panel ? columns : panel;
}

}  // namespace gneiss::kernels
