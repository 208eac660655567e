// Messages of checks that contracts share.
#include "kernels/check.h"

#include <string>

#include "base/error.h"

namespace gneiss::kernels {
namespace {

[[noreturn]] void throw_shape(const std::string& message, std::string_view hint = {}) {
  throw Error(ErrorCode::kShape, message, {}, std::string(hint));
}

}  // namespace

void expect_equal(std::string_view op, const Extent& got, const Extent& expected, std::string_view hint) {
  if (got.size == expected.size) return;
  throw_shape(fmt::format("{}: {} has {} {}, {} has {} {}", op, got.owner, got.size, got.unit, expected.owner,
                          expected.size, expected.unit),
              hint);
}

void expect_shape(std::string_view op, std::string_view owner, std::int64_t got_rows, std::int64_t got_cols,
                  std::int64_t rows, std::int64_t cols) {
  if (got_rows == rows && got_cols == cols) return;
  throw_shape(fmt::format("{}: {} is {}x{}, expected {}x{}", op, owner, got_rows, got_cols, rows, cols));
}

void expect_broadcast(std::string_view op, std::string_view owner, std::int64_t rows, std::int64_t cols,
                      std::string_view to, std::int64_t to_rows, std::int64_t to_cols) {
  const bool rows_fit = rows == to_rows || rows == 1;
  const bool cols_fit = cols == to_cols || (cols > 0 && to_cols % cols == 0);
  GNEISS_CHECK(rows_fit && cols_fit, ErrorCode::kShape, "{}: {} is {}x{}, which does not broadcast to {}, {}x{}", op,
               owner, rows, cols, to, to_rows, to_cols);
}

void expect_pattern(std::string_view op, const SparsePattern& pattern) {
  const auto offsets = static_cast<std::int64_t>(pattern.offsets.size());
  if (offsets != pattern.rows + 1) {
    throw_shape(fmt::format("{}: the pattern has {} rows and {} offsets, expected {}", op, pattern.rows, offsets,
                            pattern.rows + 1));
  }
  if (!pattern.slots.empty()) {
    expect_equal(op, {"the list of slots", "values", static_cast<std::int64_t>(pattern.slots.size())},
                 nonzeros_of(pattern));
  }
  expect_offsets(op, pattern.offsets, pattern.nonzeros());
}

void expect_no_slots(std::string_view op, const SparsePattern& pattern) {
  if (pattern.slots.empty()) return;
  throw_shape(fmt::format("{}: the pattern names slots, expected the in-edges in their own order", op),
              "pass the pattern that the edge values were stored for, not its transpose");
}

void expect_offsets(std::string_view op, std::span<const EdgeId> offsets, std::int64_t edge_rows) {
  if (offsets.empty()) throw_shape(fmt::format("{}: there are 0 offsets, expected one more than rows", op));
  if (offsets.data() == nullptr || offsets.back() == edge_rows) return;
  throw_shape(fmt::format("{}: the offsets end at {}, there are {} edges", op, offsets.back(), edge_rows));
}

void expect_heads(std::string_view op, std::int64_t heads, const Extent& columns) {
  if (heads >= 1 && columns.size % heads == 0) return;
  throw_shape(
      fmt::format("{}: {} has {} columns, which {} heads do not divide", op, columns.owner, columns.size, heads));
}

void expect_row_list(std::string_view op, std::span<const NodeId> rows, std::int64_t n) {
  if (rows.data() == nullptr) return;
  std::int64_t previous = -1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] <= previous || rows[i] >= n) {
      throw_shape(
          fmt::format("{}: entry {} of the row list is {}, expected ascending rows below {}", op, i, rows[i], n));
    }
    previous = rows[i];
  }
}

void expect_tiles(std::string_view op, const TiledPattern& tiles, const SparsePattern& pattern) {
  if (tiles.empty()) return;
  expect_equal(op, {"the tiles", "entries", static_cast<std::int64_t>(tiles.ids.size())},
               {"the pattern", "entries", pattern.nonzeros()});
}

void expect_workspace(std::string_view op, const Context& context, std::size_t bytes) {
  GNEISS_ASSERT(context.workspace.size() >= bytes, "{}: the workspace has {} bytes, expected {}", op,
                context.workspace.size(), bytes);
}

}  // namespace gneiss::kernels
