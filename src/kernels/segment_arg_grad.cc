// Contract and dispatch of segment_arg_grad.
#include "kernels/segment_arg_grad.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "segment_arg_grad";

template <class T>
constexpr std::array kVariants = {f32_variant<SegmentArgGradArgs, T>("cpu", cpu::segment_arg_grad),
                                  reference_variant<SegmentArgGradArgs, T>(reference::segment_arg_grad<T>)};

}  // namespace

template <class T>
void segment_arg_grad(const Context& context, const SegmentArgGradArgs<T>& args) {
  expect_equal(kOp, {"dy", "rows + 1", args.dy.rows + 1}, length_of("offsets", args.offsets));
  expect_offsets(kOp, args.offsets, args.de.rows);
  expect_shape(kOp, "arg", args.arg, args.dy.rows, args.dy.cols);
  expect_equal(kOp, cols_of("de", args.de), cols_of("dy", args.dy));
  choose(kOp, segment_arg_grad_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<SegmentArgGradArgs<T>>> segment_arg_grad_variants() {
  return kVariants<T>;
}

template void segment_arg_grad<float>(const Context&, const SegmentArgGradArgs<float>&);
template void segment_arg_grad<double>(const Context&, const SegmentArgGradArgs<double>&);
template std::span<const Variant<SegmentArgGradArgs<float>>> segment_arg_grad_variants<float>();
template std::span<const Variant<SegmentArgGradArgs<double>>> segment_arg_grad_variants<double>();

}  // namespace gneiss::kernels
