// Contract and dispatch of spmm_arg_grad.
#include "kernels/spmm_arg_grad.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "spmm_arg_grad";

template <class T>
constexpr std::array kVariants = {f32_variant<SpmmArgGradArgs, T>("cpu", cpu::spmm_arg_grad),
                                  reference_variant<SpmmArgGradArgs, T>(reference::spmm_arg_grad<T>)};

}  // namespace

template <class T>
void spmm_arg_grad(const Context& context, const SpmmArgGradArgs<T>& args) {
  expect_pattern(kOp, args.out_edges);
  expect_equal(kOp, length_of("in_offsets", args.in_offsets), {"the pattern", "columns + 1", args.out_edges.cols + 1});
  expect_offsets(kOp, args.in_offsets, args.out_edges.nonzeros());
  expect_equal(kOp, {"the list of slots", "values", static_cast<std::int64_t>(args.out_edges.slots.size())},
               nonzeros_of(args.out_edges), "pass the transposed pattern, which names its slots");
  expect_equal(kOp, rows_of("dy", args.dy), cols_of(args.out_edges));
  expect_shape(kOp, "arg", args.arg, args.dy.rows, args.dy.cols);
  expect_shape(kOp, "dx", args.dx, args.out_edges.rows, args.dy.cols);
  if (!args.w.empty()) expect_equal(kOp, length_of("w", args.w), nonzeros_of(args.out_edges));
  choose(kOp, spmm_arg_grad_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<SpmmArgGradArgs<T>>> spmm_arg_grad_variants() {
  return kVariants<T>;
}

template void spmm_arg_grad<float>(const Context&, const SpmmArgGradArgs<float>&);
template void spmm_arg_grad<double>(const Context&, const SpmmArgGradArgs<double>&);
template std::span<const Variant<SpmmArgGradArgs<float>>> spmm_arg_grad_variants<float>();
template std::span<const Variant<SpmmArgGradArgs<double>>> spmm_arg_grad_variants<double>();

}  // namespace gneiss::kernels
