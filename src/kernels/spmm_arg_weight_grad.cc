// Contract and dispatch of spmm_arg_weight_grad.
#include "kernels/spmm_arg_weight_grad.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "spmm_arg_weight_grad";

template <class T>
constexpr std::array kVariants = {f32_variant<SpmmArgWeightGradArgs, T>("cpu", cpu::spmm_arg_weight_grad),
                                  reference_variant<SpmmArgWeightGradArgs, T>(reference::spmm_arg_weight_grad<T>)};

}  // namespace

template <class T>
void spmm_arg_weight_grad(const Context& context, const SpmmArgWeightGradArgs<T>& args) {
  expect_pattern(kOp, args.in_edges);
  expect_no_slots(kOp, args.in_edges);
  expect_equal(kOp, rows_of("dy", args.dy), rows_of(args.in_edges));
  expect_equal(kOp, rows_of("x", args.x), cols_of(args.in_edges));
  expect_equal(kOp, cols_of("x", args.x), cols_of("dy", args.dy));
  expect_shape(kOp, "arg", args.arg, args.dy.rows, args.dy.cols);
  expect_equal(kOp, length_of("dw", args.dw), nonzeros_of(args.in_edges));
  choose(kOp, spmm_arg_weight_grad_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<SpmmArgWeightGradArgs<T>>> spmm_arg_weight_grad_variants() {
  return kVariants<T>;
}

template void spmm_arg_weight_grad<float>(const Context&, const SpmmArgWeightGradArgs<float>&);
template void spmm_arg_weight_grad<double>(const Context&, const SpmmArgWeightGradArgs<double>&);
template std::span<const Variant<SpmmArgWeightGradArgs<float>>> spmm_arg_weight_grad_variants<float>();
template std::span<const Variant<SpmmArgWeightGradArgs<double>>> spmm_arg_weight_grad_variants<double>();

}  // namespace gneiss::kernels
