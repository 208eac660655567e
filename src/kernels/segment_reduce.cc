// The contract of segment_reduce: what its arguments must be, and what runs it.
#include "kernels/segment_reduce.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "segment_reduce";

template <class T>
void check(const Context&, const SegmentReduceArgs<T>& args) {
  expect_pattern(kOp, args.pattern);
  expect_equal(kOp, rows_of("e", args.e), nonzeros_of(args.pattern));
  expect_shape(kOp, "y", args.y, args.pattern.rows, args.e.cols);
  if (args.arg.rows != 0) expect_shape(kOp, "arg", args.arg, args.y.rows, args.y.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<SegmentReduceArgs<T>>("cpu", cpu::segment_reduce),
                                  reference_variant<SegmentReduceArgs<T>>(reference::segment_reduce<T>)};

}  // namespace

GNEISS_CONTRACT(segment_reduce, SegmentReduceArgs)

}  // namespace gneiss::kernels
