// The contract of spmm: what its arguments must be, and what runs it.
#include "kernels/spmm.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "spmm";

std::string_view declines_tiled(const SpmmArgs<float>& args) {
  if (args.x_half.used()) return "it reads f32 only";
  if (args.tiles.empty()) return "the pattern is not cut by sources";
  const bool sums = args.reduce == Reduce::kSum || args.reduce == Reduce::kMean;
  return sums ? std::string_view() : "it computes sums and means only";
}

std::string_view declines_panels(const SpmmArgs<float>& args) {
  if (args.x_half.used()) return "it reads f32 only";
  if (args.panel <= 0 || !args.tiles.empty())
    return "no panels of columns are asked for, or the pattern is cut by sources";
  return spmm_workspace_bytes(args) > 0 ? std::string_view()
                                        : "it computes sums and means over one head, of more columns than in a panel";
}

std::string_view declines_halves(const SpmmArgs<float>& args) {
  return args.x_half.used() ? "it reads f32 only" : std::string_view();
}

std::string_view declines_reals(const SpmmArgs<float>& args) {
  return args.x_half.used() ? std::string_view() : "it reads 16-bit values only";
}

template <class T>
void check(const Context& context, const SpmmArgs<T>& args) {
  expect_pattern(kOp, args.pattern);
  expect_equal(kOp, rows_of("x", args.x), cols_of(args.pattern), "was the graph reordered without its features?");
  expect_equal(kOp, rows_of("y", args.y), rows_of(args.pattern));
  expect_equal(kOp, cols_of("y", args.y), cols_of("x", args.x));
  expect_heads(kOp, args.heads, cols_of("x", args.x));
  if (!args.w.empty()) {
    expect_equal(kOp, length_of("w", args.w), {"the pattern", "entries x heads", args.pattern.nonzeros() * args.heads});
  }
  expect_tiles(kOp, args.tiles, args.pattern);
  if (args.x_half.used()) {
    const bool sums = args.reduce == Reduce::kSum || args.reduce == Reduce::kMean;
    GNEISS_CHECK(sums && args.heads == 1, ErrorCode::kShape,
                 "spmm: 16-bit values are summed or averaged over one head");
  }
  GNEISS_CHECK(args.x_half.used() || !args.y_half.used(), ErrorCode::kShape, "spmm: 16-bit results need 16-bit values");
  if (args.scales.rows != 0) {
    expect_shape(kOp, "scales", args.scales, args.y.rows, 1);
    GNEISS_CHECK(args.reduce == Reduce::kSum || args.reduce == Reduce::kMean, ErrorCode::kShape,
                 "spmm: rows of sums and means are scaled, not of extremes");
  }
  expect_workspace(kOp, context, spmm_workspace_bytes(args));
  if (args.arg.rows != 0) expect_shape(kOp, "arg", args.arg, args.y.rows, args.y.cols);
}

template <class T>
constexpr std::array kVariants = {
    f32_variant<SpmmArgs<T>>("cpu_tiled", cpu::spmm_tiled, nullptr, declines_tiled, Passes::kTiles),
    f32_variant<SpmmArgs<T>>("cpu_panels", cpu::spmm_panels, nullptr, declines_panels, Passes::kPanels),
    f32_variant<SpmmArgs<T>>("cpu", cpu::spmm, nullptr, declines_halves),
    f32_variant<SpmmArgs<T>>("cpu_half", cpu::spmm_half, nullptr, declines_reals),
    reference_variant<SpmmArgs<T>>(reference::spmm<T>)};

}  // namespace

std::int64_t spmm_panel_columns(std::int64_t tile_cols) {
  constexpr std::int64_t kMostBytes = std::int64_t{8} << 20;
  return tile_cols * kSpmmPanelColumns * std::int64_t{sizeof(float)} <= kMostBytes ? kSpmmPanelColumns
                                                                                   : kSpmmPanelColumns / 2;
}

template <class T>
std::size_t spmm_workspace_bytes(const SpmmArgs<T>& args) {
  const bool cut = !args.tiles.empty();
  const std::int64_t panel = cut ? spmm_panel_columns(args.tiles.tile_cols) : args.panel;
  const bool sums = args.reduce == Reduce::kSum || args.reduce == Reduce::kMean;
  if (!std::is_same_v<T, float> || args.x_half.used() || args.heads != 1 || !sums || panel <= 0 || args.x.cols <= panel)
    return 0;
  return static_cast<std::size_t>((cut ? std::min(args.tiles.tile_cols, args.x.rows) : args.x.rows) *
                                  packed_stride(panel)) *
         sizeof(T);
}

template std::size_t spmm_workspace_bytes<float>(const SpmmArgs<float>&);
template std::size_t spmm_workspace_bytes<double>(const SpmmArgs<double>&);

GNEISS_CONTRACT(spmm, SpmmArgs)

}  // namespace gneiss::kernels
