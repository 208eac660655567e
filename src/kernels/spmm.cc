// Contract and dispatch of spmm.
#include "kernels/spmm.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "spmm";

std::string_view declines_blocked(const SpmmArgs<float>& args) {
  if (args.blocks.empty()) return "the pattern is not cut by sources";
  const bool sums = args.reduce == Reduce::kSum || args.reduce == Reduce::kMean;
  return sums ? std::string_view() : "it computes sums and means only";
}

template <class T>
constexpr Variant<SpmmArgs<T>> blocked_variant() {
  Variant<SpmmArgs<T>> variant = f32_variant<SpmmArgs, T>("cpu_blocked", cpu::spmm_blocked);
  if constexpr (std::is_same_v<T, float>) variant.declines = declines_blocked;
  return variant;
}

template <class T>
constexpr std::array kVariants = {blocked_variant<T>(), f32_variant<SpmmArgs, T>("cpu", cpu::spmm),
                                  reference_variant<SpmmArgs, T>(reference::spmm<T>)};

}  // namespace

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
  if (!args.blocks.empty()) {
    expect_equal(kOp, {"the blocks", "entries", static_cast<std::int64_t>(args.blocks.ids.size())},
                 {"the pattern", "entries", args.pattern.nonzeros()});
  }
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
