// The contract of batch_norm_update: what its arguments must be, and what runs it.
#include "kernels/batch_norm_update.h"

#include "base/error.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "batch_norm_update";

template <class T>
void check(const Context&, const BatchNormUpdateArgs<T>& args) {
  GNEISS_CHECK(args.n >= 0, ErrorCode::kShape, "batch_norm_update: n is {}, expected rows >= 0", args.n);
  const std::int64_t d = args.mean.cols;
  expect_shape(kOp, "mean", args.mean, 1, d);
  expect_shape(kOp, "var", args.var, 1, d);
  expect_shape(kOp, "running_mean", args.running_mean, 1, d);
  expect_shape(kOp, "running_var", args.running_var, 1, d);
}

template <class T>
constexpr std::array kVariants = {reference_variant<BatchNormUpdateArgs<T>>(reference::batch_norm_update<T>)};

}  // namespace

GNEISS_CONTRACT(batch_norm_update, BatchNormUpdateArgs)

}  // namespace gneiss::kernels
