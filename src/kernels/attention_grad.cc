// The contract of attention_grad: what its arguments must be, and what runs it.
#include "kernels/attention_grad.h"

#include "kernels/attention.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "attention_grad";

template <class T>
void check(const Context& context, const AttentionGradArgs<T>& args) {
  const std::int64_t sources = args.pattern.rows;
  const std::int64_t destinations = args.pattern.cols;
  expect_pattern(kOp, args.pattern);
  expect_equal(kOp, rows_of("z", args.z), rows_of(args.pattern), "was the graph reordered without its features?");
  expect_heads(kOp, args.heads, cols_of("z", args.z));
  expect_shape(kOp, "s_src", args.s_src, sources, args.heads);
  expect_shape(kOp, "s_dst", args.s_dst, destinations, args.heads);
  expect_shape(kOp, "lse", args.lse, destinations, args.heads);
  expect_shape(kOp, "dots", args.dots, destinations, args.heads);
  expect_shape(kOp, "dy", args.dy, destinations, args.z.cols);
  if (args.gate.rows != 0) expect_shape(kOp, "gate", args.gate, args.pattern.nonzeros(), args.heads);
  expect_shape(kOp, "dz", args.dz, sources, args.z.cols);
  expect_shape(kOp, "ds_src", args.ds_src, sources, args.heads);
  expect_tiles(kOp, args.tiles, args.pattern);
  expect_workspace(kOp, context, attention_grad_workspace_bytes(destinations, args.heads, sizeof(T)));
}

template <class T>
constexpr std::array kVariants = {
    f32_variant<AttentionGradArgs<T>>("cpu_tiled", cpu::attention_grad_tiled, nullptr,
                                      few_heads_in_tiles<AttentionGradArgs<float>>, Passes::kTiles),
    f32_variant<AttentionGradArgs<T>>("cpu", cpu::attention_grad, cpu::attention_grad_bands,
                                      few_heads<AttentionGradArgs<float>>),
    reference_variant<AttentionGradArgs<T>>(reference::attention_grad<T>)};

}  // namespace

std::size_t attention_grad_workspace_bytes(std::int64_t destinations, std::int64_t heads, std::size_t value_bytes) {
  return static_cast<std::size_t>(destinations * heads * kPackedValues) * value_bytes;
}

GNEISS_CONTRACT(attention_grad, AttentionGradArgs)

}  // namespace gneiss::kernels
