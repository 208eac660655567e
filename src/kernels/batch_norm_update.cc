// Contract and dispatch of batch_norm_update.
#include "kernels/batch_norm_update.h"

#include "base/error.h"
#include "kernels/check.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "batch_norm_update";

template <class T>
constexpr std::array kVariants = {reference_variant<BatchNormUpdateArgs, T>(reference::batch_norm_update<T>)};

}  // namespace

template <class T>
void batch_norm_update(const Context& context, const BatchNormUpdateArgs<T>& args) {
  GNEISS_CHECK(args.n >= 0, ErrorCode::kShape, "batch_norm_update: n is {}, expected rows >= 0", args.n);
  const std::int64_t d = args.mean.cols;
  expect_shape(kOp, "mean", args.mean, 1, d);
  expect_shape(kOp, "var", args.var, 1, d);
  expect_shape(kOp, "running_mean", args.running_mean, 1, d);
  expect_shape(kOp, "running_var", args.running_var, 1, d);
  choose(kOp, batch_norm_update_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<BatchNormUpdateArgs<T>>> batch_norm_update_variants() {
  return kVariants<T>;
}

template void batch_norm_update<float>(const Context&, const BatchNormUpdateArgs<float>&);
template void batch_norm_update<double>(const Context&, const BatchNormUpdateArgs<double>&);
template std::span<const Variant<BatchNormUpdateArgs<float>>> batch_norm_update_variants<float>();
template std::span<const Variant<BatchNormUpdateArgs<double>>> batch_norm_update_variants<double>();

}  // namespace gneiss::kernels
