// The contract of segment_arg_grad: what its arguments must be, and what runs it.
#include "kernels/segment_arg_grad.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "segment_arg_grad";

template <class T>
void check(const Context&, const SegmentArgGradArgs<T>& args) {
  expect_equal(kOp, {"dy", "rows + 1", args.dy.rows + 1}, length_of("offsets", args.offsets));
  expect_offsets(kOp, args.offsets, args.de.rows);
  expect_shape(kOp, "arg", args.arg, args.dy.rows, args.dy.cols);
  expect_equal(kOp, cols_of("de", args.de), cols_of("dy", args.dy));
}

template <class T>
constexpr std::array kVariants = {f32_variant<SegmentArgGradArgs<T>>("cpu", cpu::segment_arg_grad),
                                  reference_variant<SegmentArgGradArgs<T>>(reference::segment_arg_grad<T>)};

}  // namespace

GNEISS_CONTRACT(segment_arg_grad, SegmentArgGradArgs)

}  // namespace gneiss::kernels
