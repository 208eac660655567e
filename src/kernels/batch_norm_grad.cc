// Contract and dispatch of batch_norm_grad.
#include "kernels/batch_norm_grad.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "batch_norm_grad";

template <class T>
constexpr std::array kVariants = {f32_variant<BatchNormGradArgs, T>("cpu", cpu::batch_norm_grad),
                                  reference_variant<BatchNormGradArgs, T>(reference::batch_norm_grad<T>)};

}  // namespace

template <class T>
void batch_norm_grad(const Context& context, const BatchNormGradArgs<T>& args) {
  expect_shape(kOp, "dy", args.dy, args.x.rows, args.x.cols);
  expect_shape(kOp, "dx", args.dx, args.x.rows, args.x.cols);
  expect_shape(kOp, "gamma", args.gamma, 1, args.x.cols);
  expect_shape(kOp, "mean", args.mean, 1, args.x.cols);
  expect_shape(kOp, "var", args.var, 1, args.x.cols);
  expect_shape(kOp, "dgamma", args.dgamma, 1, args.x.cols);
  expect_shape(kOp, "dbeta", args.dbeta, 1, args.x.cols);
  expect_workspace(kOp, context, norm_workspace_bytes(args.x.rows, args.x.cols, sizeof(T)));
  choose(kOp, batch_norm_grad_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<BatchNormGradArgs<T>>> batch_norm_grad_variants() {
  return kVariants<T>;
}

template void batch_norm_grad<float>(const Context&, const BatchNormGradArgs<float>&);
template void batch_norm_grad<double>(const Context&, const BatchNormGradArgs<double>&);
template std::span<const Variant<BatchNormGradArgs<float>>> batch_norm_grad_variants<float>();
template std::span<const Variant<BatchNormGradArgs<double>>> batch_norm_grad_variants<double>();

}  // namespace gneiss::kernels
