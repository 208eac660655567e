// The contract of batch_norm_inference: what its arguments must be, and what runs it.
#include "kernels/batch_norm_inference.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "batch_norm_inference";

template <class T>
void check(const Context&, const BatchNormInferenceArgs<T>& args) {
  expect_shape(kOp, "y", args.y, args.x.rows, args.x.cols);
  expect_shape(kOp, "gamma", args.gamma, 1, args.x.cols);
  expect_shape(kOp, "beta", args.beta, 1, args.x.cols);
  expect_shape(kOp, "mean", args.mean, 1, args.x.cols);
  expect_shape(kOp, "var", args.var, 1, args.x.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<BatchNormInferenceArgs<T>>("cpu", cpu::batch_norm_inference),
                                  reference_variant<BatchNormInferenceArgs<T>>(reference::batch_norm_inference<T>)};

}  // namespace

GNEISS_CONTRACT(batch_norm_inference, BatchNormInferenceArgs)

}  // namespace gneiss::kernels
