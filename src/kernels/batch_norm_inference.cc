// Contract and dispatch of batch_norm_inference.
#include "kernels/batch_norm_inference.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "batch_norm_inference";

template <class T>
constexpr std::array kVariants = {f32_variant<BatchNormInferenceArgs, T>("cpu", cpu::batch_norm_inference),
                                  reference_variant<BatchNormInferenceArgs, T>(reference::batch_norm_inference<T>)};

}  // namespace

template <class T>
void batch_norm_inference(const Context& context, const BatchNormInferenceArgs<T>& args) {
  expect_shape(kOp, "y", args.y, args.x.rows, args.x.cols);
  expect_shape(kOp, "gamma", args.gamma, 1, args.x.cols);
  expect_shape(kOp, "beta", args.beta, 1, args.x.cols);
  expect_shape(kOp, "mean", args.mean, 1, args.x.cols);
  expect_shape(kOp, "var", args.var, 1, args.x.cols);
  choose(kOp, batch_norm_inference_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<BatchNormInferenceArgs<T>>> batch_norm_inference_variants() {
  return kVariants<T>;
}

template void batch_norm_inference<float>(const Context&, const BatchNormInferenceArgs<float>&);
template void batch_norm_inference<double>(const Context&, const BatchNormInferenceArgs<double>&);
template std::span<const Variant<BatchNormInferenceArgs<float>>> batch_norm_inference_variants<float>();
template std::span<const Variant<BatchNormInferenceArgs<double>>> batch_norm_inference_variants<double>();

}  // namespace gneiss::kernels
