// The contract of batch_norm: what its arguments must be, and what runs it.
#include "kernels/batch_norm.h"

#include "kernels/chunks.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "batch_norm";

template <class T>
void check(const Context& context, const BatchNormArgs<T>& args) {
  expect_shape(kOp, "y", args.y, args.x.rows, args.x.cols);
  expect_shape(kOp, "gamma", args.gamma, 1, args.x.cols);
  expect_shape(kOp, "beta", args.beta, 1, args.x.cols);
  expect_shape(kOp, "mean", args.mean, 1, args.x.cols);
  expect_shape(kOp, "var", args.var, 1, args.x.cols);
  expect_workspace(kOp, context, norm_workspace_bytes(args.x.rows, args.x.cols, sizeof(T)));
}

template <class T>
constexpr std::array kVariants = {f32_variant<BatchNormArgs<T>>("cpu", cpu::batch_norm),
                                  reference_variant<BatchNormArgs<T>>(reference::batch_norm<T>)};

}  // namespace

std::size_t norm_workspace_bytes(std::int64_t n, std::int64_t d, std::size_t) {
  return static_cast<std::size_t>((reduction_chunks(n) + 1) * (2 * d + 2)) * sizeof(double);
}

GNEISS_CONTRACT(batch_norm, BatchNormArgs)

}  // namespace gneiss::kernels
