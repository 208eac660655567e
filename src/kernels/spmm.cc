// Contract and dispatch of spmm.
#include "kernels/spmm.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "spmm";

std::string_view declines_blocked(const SpmmArgs<float>& args) {
  if (args.x_half.used()) return "it reads f32 only";
  if (args.blocks.empty()) return "the pattern is not cut by sources";
  const bool sums = args.reduce == Reduce::kSum || args.reduce == Reduce::kMean;
  return sums ? std::string_view() : "it computes sums and means only";
}

std::string_view declines_halves(const SpmmArgs<float>& args) {
  return args.x_half.used() ? "it reads f32 only" : std::string_view();
}

std::string_view declines_reals(const SpmmArgs<float>& args) {
  return args.x_half.used() ? std::string_view() : "it reads 16-bit values only";
}

/// A variant for f32 results with a reason of its own to decline.
template <class T>
constexpr Variant<SpmmArgs<T>> f32_unless(std::string_view name, void (*run)(const Context&, const SpmmArgs<float>&),
                                          std::string_view (*declines)(const SpmmArgs<float>&)) {
  Variant<SpmmArgs<T>> variant = f32_variant<SpmmArgs, T>(name, run);
  if constexpr (std::is_same_v<T, float>) variant.declines = declines;
  return variant;
}

template <class T>
constexpr std::array kVariants = {
    f32_unless<T>("cpu_blocked", cpu::spmm_blocked, declines_blocked), f32_unless<T>("cpu", cpu::spmm, declines_halves),
    f32_unless<T>("cpu_half", cpu::spmm_half, declines_reals), reference_variant<SpmmArgs, T>(reference::spmm<T>)};

}  // namespace

std::int64_t spmm_panel_columns(std::int64_t block_cols) {
  constexpr std::int64_t kMostBytes = std::int64_t{8} << 20;
  return block_cols * kSpmmPanelColumns * std::int64_t{sizeof(float)} <= kMostBytes ? kSpmmPanelColumns : kSpmmPanelColumns / 2;
}

std::size_t spmm_workspace_bytes(const BlockedPattern& blocks, std::int64_t sources, std::int64_t columns, std::int64_t heads, Reduce reduce, std::size_t value_bytes) {
  const std::int64_t panel = spmm_panel_columns(blocks.block_cols);
  if (blocks.empty() || value_bytes != sizeof(float) || heads != 1 || !(reduce == Reduce::kSum || reduce == Reduce::kMean) || columns <= panel) return 0;
  return static_cast<std::size_t>(std::min(blocks.block_cols, sources) * panel) * value_bytes;
}

template <class T>
void spmm(const Context& context, const SpmmArgs<T>& args) {
  expect_pattern(kOp, args.pattern);
  expect_equal(kOp, rows_of("x", args.x), cols_of(args.pattern), "was the graph reordered without its features?");
  expect_equal(kOp, rows_of("y", args.y), rows_of(args.pattern));
  expect_equal(kOp, cols_of("y", args.y), cols_of("x", args.x));
  expect_heads(kOp, args.heads, cols_of("x", args.x));
  if (!args.w.empty()) {
    expect_equal(kOp, length_of("w", args.w), {"the pattern", "entries x heads", args.pattern.nonzeros() * args.heads});
  }
  expect_blocks(kOp, args.blocks, args.pattern);
  if (args.x_half.used()) {
    const bool sums = args.reduce == Reduce::kSum || args.reduce == Reduce::kMean;
    GNEISS_CHECK(sums && args.heads == 1, ErrorCode::kShape,
                 "spmm: 16-bit values are summed or averaged over one head");
  }
  GNEISS_CHECK(args.x_half.used() || !args.y_half.used(), ErrorCode::kShape, "spmm: 16-bit results need 16-bit values");
  expect_workspace(kOp, context, spmm_workspace_bytes(args.blocks, args.x.rows, args.x.cols, args.heads, args.reduce, sizeof(T)));
  if (args.arg.rows != 0) expect_shape(kOp, "arg", args.arg, args.y.rows, args.y.cols);
  choose(kOp, spmm_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<SpmmArgs<T>>> spmm_variants() {
  return kVariants<T>;
}

template void spmm<float>(const Context&, const SpmmArgs<float>&);
template void spmm<double>(const Context&, const SpmmArgs<double>&);
template std::span<const Variant<SpmmArgs<float>>> spmm_variants<float>();
template std::span<const Variant<SpmmArgs<double>>> spmm_variants<double>();

}  // namespace gneiss::kernels
