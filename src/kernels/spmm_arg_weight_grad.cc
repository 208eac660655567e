// The contract of spmm_arg_weight_grad: what its arguments must be, and what runs it.
#include "kernels/spmm_arg_weight_grad.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "spmm_arg_weight_grad";

template <class T>
void check(const Context&, const SpmmArgWeightGradArgs<T>& args) {
  expect_pattern(kOp, args.in_edges);
  expect_no_slots(kOp, args.in_edges);
  expect_equal(kOp, rows_of("dy", args.dy), rows_of(args.in_edges));
  expect_equal(kOp, rows_of("x", args.x), cols_of(args.in_edges));
  expect_equal(kOp, cols_of("x", args.x), cols_of("dy", args.dy));
  expect_shape(kOp, "arg", args.arg, args.dy.rows, args.dy.cols);
  expect_equal(kOp, length_of("dw", args.dw), nonzeros_of(args.in_edges));
}

template <class T>
constexpr std::array kVariants = {f32_variant<SpmmArgWeightGradArgs<T>>("cpu", cpu::spmm_arg_weight_grad),
                                  reference_variant<SpmmArgWeightGradArgs<T>>(reference::spmm_arg_weight_grad<T>)};

}  // namespace

GNEISS_CONTRACT(spmm_arg_weight_grad, SpmmArgWeightGradArgs)

}  // namespace gneiss::kernels
