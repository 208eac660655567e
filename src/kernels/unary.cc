// Contract and dispatch of unary.
#include "kernels/unary.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "unary";

template <class T>
constexpr std::array kVariants = {f32_variant<UnaryArgs, T>("cpu", cpu::unary),
                                  reference_variant<UnaryArgs, T>(reference::unary<T>)};

}  // namespace

template <class T>
void unary(const Context& context, const UnaryArgs<T>& args) {
  expect_shape(kOp, "y", args.y, args.x.rows, args.x.cols);
  choose(kOp, unary_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<UnaryArgs<T>>> unary_variants() {
  return kVariants<T>;
}

template void unary<float>(const Context&, const UnaryArgs<float>&);
template void unary<double>(const Context&, const UnaryArgs<double>&);
template std::span<const Variant<UnaryArgs<float>>> unary_variants<float>();
template std::span<const Variant<UnaryArgs<double>>> unary_variants<double>();

}  // namespace gneiss::kernels
