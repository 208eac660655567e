// Contract and dispatch of layer_norm_grad.
#include "kernels/layer_norm_grad.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "layer_norm_grad";

template <class T>
constexpr std::array kVariants = {f32_variant<LayerNormGradArgs, T>("cpu", cpu::layer_norm_grad),
                                  reference_variant<LayerNormGradArgs, T>(reference::layer_norm_grad<T>)};

}  // namespace

template <class T>
void layer_norm_grad(const Context& context, const LayerNormGradArgs<T>& args) {
  expect_shape(kOp, "dy", args.dy, args.x.rows, args.x.cols);
  expect_shape(kOp, "dx", args.dx, args.x.rows, args.x.cols);
  expect_shape(kOp, "gamma", args.gamma, 1, args.x.cols);
  expect_shape(kOp, "dgamma", args.dgamma, 1, args.x.cols);
  expect_shape(kOp, "dbeta", args.dbeta, 1, args.x.cols);
  const std::int64_t groups = args.graph_mode ? 1 : args.x.rows;
  expect_shape(kOp, "mean", args.mean, groups, 1);
  expect_shape(kOp, "var", args.var, groups, 1);
  expect_workspace(kOp, context, norm_workspace_bytes(args.x.rows, args.x.cols, sizeof(T)));
  choose(kOp, layer_norm_grad_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<LayerNormGradArgs<T>>> layer_norm_grad_variants() {
  return kVariants<T>;
}

template void layer_norm_grad<float>(const Context&, const LayerNormGradArgs<float>&);
template void layer_norm_grad<double>(const Context&, const LayerNormGradArgs<double>&);
template std::span<const Variant<LayerNormGradArgs<float>>> layer_norm_grad_variants<float>();
template std::span<const Variant<LayerNormGradArgs<double>>> layer_norm_grad_variants<double>();

}  // namespace gneiss::kernels
