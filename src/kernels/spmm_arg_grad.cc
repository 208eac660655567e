// The contract of spmm_arg_grad: what its arguments must be, and what runs it.
#include "kernels/spmm_arg_grad.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "spmm_arg_grad";

template <class T>
void check(const Context&, const SpmmArgGradArgs<T>& args) {
  expect_pattern(kOp, args.out_edges);
  if (args.ids.empty()) {
    expect_equal(kOp, length_of("in_offsets", args.in_offsets),
                 {"the pattern", "columns + 1", args.out_edges.cols + 1});
    expect_offsets(kOp, args.in_offsets, args.out_edges.nonzeros());
    expect_equal(kOp, {"the list of slots", "values", static_cast<std::int64_t>(args.out_edges.slots.size())},
                 nonzeros_of(args.out_edges), "pass the transposed pattern, which names its slots");
    if (!args.w.empty()) expect_equal(kOp, length_of("w", args.w), nonzeros_of(args.out_edges));
  } else {
    expect_equal(kOp, length_of("ids", args.ids), rows_of(args.out_edges));
    expect_equal(kOp, length_of("in_offsets", args.in_offsets), {"a sum by ids", "offsets", 0});
    expect_equal(kOp, length_of("w", args.w), {"a sum by ids", "weights", 0});
  }
  expect_equal(kOp, rows_of("dy", args.dy), cols_of(args.out_edges));
  expect_shape(kOp, "arg", args.arg, args.dy.rows, args.dy.cols);
  expect_shape(kOp, "dx", args.dx, args.out_edges.rows, args.dy.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<SpmmArgGradArgs<T>>("cpu", cpu::spmm_arg_grad),
                                  reference_variant<SpmmArgGradArgs<T>>(reference::spmm_arg_grad<T>)};

}  // namespace

GNEISS_CONTRACT(spmm_arg_grad, SpmmArgGradArgs)

}  // namespace gneiss::kernels
