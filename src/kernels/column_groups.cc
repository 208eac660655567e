// Contract and dispatch of column_groups.
#include "kernels/column_groups.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "column_groups";

template <class T>
constexpr std::array kVariants = {f32_variant<ColumnGroupsArgs, T>("cpu", cpu::column_groups),
                                  reference_variant<ColumnGroupsArgs, T>(reference::column_groups<T>)};

}  // namespace

template <class T>
void column_groups(const Context& context, const ColumnGroupsArgs<T>& args) {
  const bool grows = args.fn == ColumnGroups::kExpandGroups || args.fn == ColumnGroups::kTileHeads;
  const Extent wide = grows ? cols_of("y", args.y) : cols_of("x", args.x);
  const Extent narrow = grows ? cols_of("x", args.x) : cols_of("y", args.y);
  expect_equal(kOp, rows_of("y", args.y), rows_of("x", args.x));
  expect_heads(kOp, args.heads, wide);
  const bool by_head = args.fn == ColumnGroups::kSumGroups || args.fn == ColumnGroups::kExpandGroups;
  expect_equal(kOp, narrow, {"a head of the wide side", "columns", by_head ? args.heads : wide.size / args.heads});
  if (args.weights.rows != 0) {
    expect_equal(kOp, cols_of("weights", args.weights), cols_of("x", args.x));
    expect_broadcast(kOp, "weights", args.weights, "x", args.x);
  }
  choose(kOp, column_groups_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<ColumnGroupsArgs<T>>> column_groups_variants() {
  return kVariants<T>;
}

template void column_groups<float>(const Context&, const ColumnGroupsArgs<float>&);
template void column_groups<double>(const Context&, const ColumnGroupsArgs<double>&);
template std::span<const Variant<ColumnGroupsArgs<float>>> column_groups_variants<float>();
template std::span<const Variant<ColumnGroupsArgs<double>>> column_groups_variants<double>();

}  // namespace gneiss::kernels
