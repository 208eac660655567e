// Contract and dispatch of batch_norm.
#include "kernels/batch_norm.h"

#include "kernels/check.h"
#include "kernels/chunks.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "batch_norm";

template <class T>
constexpr std::array kVariants = {f32_variant<BatchNormArgs, T>("cpu", cpu::batch_norm),
                                  reference_variant<BatchNormArgs, T>(reference::batch_norm<T>)};

}  // namespace

std::size_t norm_workspace_bytes(std::int64_t n, std::int64_t d, std::size_t) {
  return static_cast<std::size_t>((reduction_chunks(n) + 1) * (2 * d + 2)) * sizeof(double);
}

template <class T>
void batch_norm(const Context& context, const BatchNormArgs<T>& args) {
  expect_shape(kOp, "y", args.y, args.x.rows, args.x.cols);
  expect_shape(kOp, "gamma", args.gamma, 1, args.x.cols);
  expect_shape(kOp, "beta", args.beta, 1, args.x.cols);
  expect_shape(kOp, "mean", args.mean, 1, args.x.cols);
  expect_shape(kOp, "var", args.var, 1, args.x.cols);
  expect_workspace(kOp, context, norm_workspace_bytes(args.x.rows, args.x.cols, sizeof(T)));
  choose(kOp, batch_norm_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<BatchNormArgs<T>>> batch_norm_variants() {
  return kVariants<T>;
}

template void batch_norm<float>(const Context&, const BatchNormArgs<float>&);
template void batch_norm<double>(const Context&, const BatchNormArgs<double>&);
template std::span<const Variant<BatchNormArgs<float>>> batch_norm_variants<float>();
template std::span<const Variant<BatchNormArgs<double>>> batch_norm_variants<double>();

}  // namespace gneiss::kernels
