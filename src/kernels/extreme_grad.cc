// Contract and dispatch of extreme_grad.
#include "kernels/extreme_grad.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "extreme_grad";

template <class T>
constexpr std::array kVariants = {f32_variant<ExtremeGradArgs, T>("cpu", cpu::extreme_grad),
                                  reference_variant<ExtremeGradArgs, T>(reference::extreme_grad<T>)};

}  // namespace

template <class T>
void extreme_grad(const Context& context, const ExtremeGradArgs<T>& args) {
  expect_shape(kOp, "b", args.b, args.a.rows, args.a.cols);
  expect_shape(kOp, "dy", args.dy, args.a.rows, args.a.cols);
  expect_shape(kOp, "dx", args.dx, args.a.rows, args.a.cols);
  choose(kOp, extreme_grad_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<ExtremeGradArgs<T>>> extreme_grad_variants() {
  return kVariants<T>;
}

template void extreme_grad<float>(const Context&, const ExtremeGradArgs<float>&);
template void extreme_grad<double>(const Context&, const ExtremeGradArgs<double>&);
template std::span<const Variant<ExtremeGradArgs<float>>> extreme_grad_variants<float>();
template std::span<const Variant<ExtremeGradArgs<double>>> extreme_grad_variants<double>();

}  // namespace gneiss::kernels
