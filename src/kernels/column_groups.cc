// The contract of column_groups: what its arguments must be, and what runs it.
#include "kernels/column_groups.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "column_groups";

template <class T>
void check(const Context&, const ColumnGroupsArgs<T>& args) {
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
}

template <class T>
constexpr std::array kVariants = {f32_variant<ColumnGroupsArgs<T>>("cpu", cpu::column_groups),
                                  reference_variant<ColumnGroupsArgs<T>>(reference::column_groups<T>)};

}  // namespace

GNEISS_CONTRACT(column_groups, ColumnGroupsArgs)

}  // namespace gneiss::kernels
