// The contract of arg_sources: what its arguments must be, and what runs it.
#include "kernels/arg_sources.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "arg_sources";

template <class T>
void check(const Context&, const ArgSourcesArgs<T>& args) {
  expect_pattern(kOp, args.in_edges);
  expect_no_slots(kOp, args.in_edges);
  expect_equal(kOp, length_of("ids", args.ids), cols_of(args.in_edges));
  expect_equal(kOp, rows_of("arg", args.arg), rows_of(args.in_edges));
  expect_shape(kOp, "source", args.source, args.arg.rows, args.arg.cols);
  const bool weighs = !args.w.empty();
  if (weighs) expect_equal(kOp, length_of("w", args.w), nonzeros_of(args.in_edges));
  expect_shape(kOp, "dy", args.dy, weighs ? args.arg.rows : 0, weighs ? args.arg.cols : 0);
  expect_shape(kOp, "weighed", args.weighed, weighs ? args.arg.rows : 0, weighs ? args.arg.cols : 0);
}

template <class T>
constexpr std::array kVariants = {f32_variant<ArgSourcesArgs<T>>("cpu", cpu::arg_sources),
                                  reference_variant<ArgSourcesArgs<T>>(reference::arg_sources<T>)};

}  // namespace

GNEISS_CONTRACT(arg_sources, ArgSourcesArgs)

}  // namespace gneiss::kernels
