// Contract and dispatch of segment_reduce.
#include "kernels/segment_reduce.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "segment_reduce";

template <class T>
constexpr std::array kVariants = {f32_variant<SegmentReduceArgs, T>("cpu", cpu::segment_reduce),
                                  reference_variant<SegmentReduceArgs, T>(reference::segment_reduce<T>)};

}  // namespace

template <class T>
void segment_reduce(const Context& context, const SegmentReduceArgs<T>& args) {
  expect_pattern(kOp, args.pattern);
  expect_equal(kOp, rows_of("e", args.e), nonzeros_of(args.pattern));
  expect_shape(kOp, "y", args.y, args.pattern.rows, args.e.cols);
  if (args.arg.rows != 0) expect_shape(kOp, "arg", args.arg, args.y.rows, args.y.cols);
  choose(kOp, segment_reduce_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<SegmentReduceArgs<T>>> segment_reduce_variants() {
  return kVariants<T>;
}

template void segment_reduce<float>(const Context&, const SegmentReduceArgs<float>&);
template void segment_reduce<double>(const Context&, const SegmentReduceArgs<double>&);
template std::span<const Variant<SegmentReduceArgs<float>>> segment_reduce_variants<float>();
template std::span<const Variant<SegmentReduceArgs<double>>> segment_reduce_variants<double>();

}  // namespace gneiss::kernels
