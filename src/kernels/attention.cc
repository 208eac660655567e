// The contract of attention: what its arguments must be, and what runs it.
#include "kernels/attention.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "attention";

template <class T>
void check(const Context& context, const AttentionArgs<T>& args) {
  expect_pattern(kOp, args.pattern);
  expect_no_slots(kOp, args.pattern);
  expect_equal(kOp, rows_of("z", args.z), cols_of(args.pattern), "was the graph reordered without its features?");
  expect_heads(kOp, args.heads, cols_of("z", args.z));
  expect_shape(kOp, "s_src", args.s_src, args.pattern.cols, args.heads);
  expect_shape(kOp, "s_dst", args.s_dst, args.pattern.rows, args.heads);
  if (args.gate.rows != 0) expect_shape(kOp, "gate", args.gate, args.pattern.nonzeros(), args.heads);
  if (args.range.rows != 0) expect_shape(kOp, "range", args.range, 2, args.heads);
  expect_shape(kOp, "y", args.y, args.pattern.rows, args.z.cols);
  if (args.tangent.rows != 0) expect_shape(kOp, "tangent", args.tangent, args.pattern.rows, args.z.cols);
  if (args.lse.rows != 0) expect_shape(kOp, "lse", args.lse, args.pattern.rows, args.heads);
  expect_tiles(kOp, args.tiles, args.pattern);
  expect_workspace(kOp, context, attention_workspace_bytes(args.y.rows, args.heads, !args.tiles.empty(), sizeof(T)));
}

template <class T>
constexpr std::array kVariants = {
    f32_variant<AttentionArgs<T>>("cpu_tiled", cpu::attention_tiled, nullptr, few_heads_in_tiles<AttentionArgs<float>>,
                                  Passes::kTiles),
    f32_variant<AttentionArgs<T>>("cpu", cpu::attention, cpu::attention_bands, few_heads<AttentionArgs<float>>),
    reference_variant<AttentionArgs<T>>(reference::attention<T>)};

}  // namespace

std::size_t attention_workspace_bytes(std::int64_t destinations, std::int64_t heads, bool tiled,
                                      std::size_t value_bytes) {
  const std::int64_t states = tiled ? destinations * heads * kAttentionStates : 0;
  return static_cast<std::size_t>(score_range_values(heads) + states) * value_bytes;
}

GNEISS_CONTRACT(attention, AttentionArgs)

}  // namespace gneiss::kernels
