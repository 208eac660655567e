// The contract of batch_norm_grad: what its arguments must be, and what runs it.
#include "kernels/batch_norm_grad.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "batch_norm_grad";

template <class T>
void check(const Context& context, const BatchNormGradArgs<T>& args) {
  expect_shape(kOp, "dy", args.dy, args.x.rows, args.x.cols);
  expect_shape(kOp, "dx", args.dx, args.x.rows, args.x.cols);
  expect_shape(kOp, "gamma", args.gamma, 1, args.x.cols);
  expect_shape(kOp, "mean", args.mean, 1, args.x.cols);
  expect_shape(kOp, "var", args.var, 1, args.x.cols);
  expect_shape(kOp, "dgamma", args.dgamma, 1, args.x.cols);
  expect_shape(kOp, "dbeta", args.dbeta, 1, args.x.cols);
  expect_workspace(kOp, context, norm_workspace_bytes(args.x.rows, args.x.cols, sizeof(T)));
}

template <class T>
constexpr std::array kVariants = {f32_variant<BatchNormGradArgs<T>>("cpu", cpu::batch_norm_grad),
                                  reference_variant<BatchNormGradArgs<T>>(reference::batch_norm_grad<T>)};

}  // namespace

GNEISS_CONTRACT(batch_norm_grad, BatchNormGradArgs)

}  // namespace gneiss::kernels
