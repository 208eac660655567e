// Contract and dispatch of layer_norm.
#include "kernels/layer_norm.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "layer_norm";

template <class T>
constexpr std::array kVariants = {f32_variant<LayerNormArgs, T>("cpu", cpu::layer_norm),
                                  reference_variant<LayerNormArgs, T>(reference::layer_norm<T>)};

}  // namespace

template <class T>
void layer_norm(const Context& context, const LayerNormArgs<T>& args) {
  expect_shape(kOp, "y", args.y, args.x.rows, args.x.cols);
  expect_shape(kOp, "gamma", args.gamma, 1, args.x.cols);
  expect_shape(kOp, "beta", args.beta, 1, args.x.cols);
  const std::int64_t groups = args.graph_mode ? 1 : args.x.rows;
  expect_shape(kOp, "mean", args.mean, groups, 1);
  expect_shape(kOp, "var", args.var, groups, 1);
  expect_workspace(kOp, context, norm_workspace_bytes(args.x.rows, args.x.cols, sizeof(T)));
  choose(kOp, layer_norm_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<LayerNormArgs<T>>> layer_norm_variants() {
  return kVariants<T>;
}

template void layer_norm<float>(const Context&, const LayerNormArgs<float>&);
template void layer_norm<double>(const Context&, const LayerNormArgs<double>&);
template std::span<const Variant<LayerNormArgs<float>>> layer_norm_variants<float>();
template std::span<const Variant<LayerNormArgs<double>>> layer_norm_variants<double>();

}  // namespace gneiss::kernels
