// The contract of layer_norm_grad: what its arguments must be, and what runs it.
#include "kernels/layer_norm_grad.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "layer_norm_grad";

template <class T>
void check(const Context& context, const LayerNormGradArgs<T>& args) {
  expect_shape(kOp, "dy", args.dy, args.x.rows, args.x.cols);
  expect_shape(kOp, "dx", args.dx, args.x.rows, args.x.cols);
  expect_shape(kOp, "gamma", args.gamma, 1, args.x.cols);
  expect_shape(kOp, "dgamma", args.dgamma, 1, args.x.cols);
  expect_shape(kOp, "dbeta", args.dbeta, 1, args.x.cols);
  const std::int64_t groups = args.graph_mode ? 1 : args.x.rows;
  expect_shape(kOp, "mean", args.mean, groups, 1);
  expect_shape(kOp, "var", args.var, groups, 1);
  expect_workspace(kOp, context, norm_workspace_bytes(args.x.rows, args.x.cols, sizeof(T)));
}

template <class T>
constexpr std::array kVariants = {f32_variant<LayerNormGradArgs<T>>("cpu", cpu::layer_norm_grad),
                                  reference_variant<LayerNormGradArgs<T>>(reference::layer_norm_grad<T>)};

}  // namespace

GNEISS_CONTRACT(layer_norm_grad, LayerNormGradArgs)

}  // namespace gneiss::kernels
