// Contract and dispatch of unary_grad.
#include "kernels/unary_grad.h"

#include "base/error.h"
#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "unary_grad";

template <class T>
constexpr std::array kVariants = {f32_variant<UnaryGradArgs, T>("cpu", cpu::unary_grad),
                                  reference_variant<UnaryGradArgs, T>(reference::unary_grad<T>)};

}  // namespace

template <class T>
void unary_grad(const Context& context, const UnaryGradArgs<T>& args) {
  GNEISS_CHECK(args.fn != Unary::kAffine && args.fn != Unary::kLog, ErrorCode::kUnsupported,
               "unary_grad: {} has no gradient in terms of its output", args.fn == Unary::kLog ? "log" : "affine");
  expect_shape(kOp, "dy", args.dy, args.y.rows, args.y.cols);
  expect_shape(kOp, "dx", args.dx, args.y.rows, args.y.cols);
  choose(kOp, unary_grad_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<UnaryGradArgs<T>>> unary_grad_variants() {
  return kVariants<T>;
}

template void unary_grad<float>(const Context&, const UnaryGradArgs<float>&);
template void unary_grad<double>(const Context&, const UnaryGradArgs<double>&);
template std::span<const Variant<UnaryGradArgs<float>>> unary_grad_variants<float>();
template std::span<const Variant<UnaryGradArgs<double>>> unary_grad_variants<double>();

}  // namespace gneiss::kernels
