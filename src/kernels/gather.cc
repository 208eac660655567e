// Contract and dispatch of gather.
#include "kernels/gather.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "gather";

template <class T>
constexpr std::array kVariants = {f32_variant<GatherArgs, T>("cpu", cpu::gather),
                                  reference_variant<GatherArgs, T>(reference::gather<T>)};

}  // namespace

template <class T>
void gather(const Context& context, const GatherArgs<T>& args) {
  expect_pattern(kOp, args.pattern);
  expect_no_slots(kOp, args.pattern);
  expect_equal(kOp, rows_of("x", args.x), args.by_source ? cols_of(args.pattern) : rows_of(args.pattern));
  expect_shape(kOp, "e", args.e, args.pattern.nonzeros(), args.x.cols);
  choose(kOp, gather_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<GatherArgs<T>>> gather_variants() {
  return kVariants<T>;
}

template void gather<float>(const Context&, const GatherArgs<float>&);
template void gather<double>(const Context&, const GatherArgs<double>&);
template std::span<const Variant<GatherArgs<float>>> gather_variants<float>();
template std::span<const Variant<GatherArgs<double>>> gather_variants<double>();

}  // namespace gneiss::kernels
