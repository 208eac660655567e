// The contract of layer_norm: what its arguments must be, and what runs it.
#include "kernels/layer_norm.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "layer_norm";

template <class T>
void check(const Context& context, const LayerNormArgs<T>& args) {
  expect_shape(kOp, "y", args.y, args.x.rows, args.x.cols);
  expect_shape(kOp, "gamma", args.gamma, 1, args.x.cols);
  expect_shape(kOp, "beta", args.beta, 1, args.x.cols);
  const std::int64_t groups = args.graph_mode ? 1 : args.x.rows;
  expect_shape(kOp, "mean", args.mean, groups, 1);
  expect_shape(kOp, "var", args.var, groups, 1);
  expect_workspace(kOp, context, norm_workspace_bytes(args.x.rows, args.x.cols, sizeof(T)));
}

template <class T>
constexpr std::array kVariants = {f32_variant<LayerNormArgs<T>>("cpu", cpu::layer_norm),
                                  reference_variant<LayerNormArgs<T>>(reference::layer_norm<T>)};

}  // namespace

GNEISS_CONTRACT(layer_norm, LayerNormArgs)

}  // namespace gneiss::kernels
