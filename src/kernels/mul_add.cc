// Contract and dispatch of mul_add.
#include "kernels/mul_add.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "mul_add";

template <class T>
constexpr std::array kVariants = {f32_variant<MulAddArgs, T>("cpu", cpu::mul_add),
                                  reference_variant<MulAddArgs, T>(reference::mul_add<T>)};

}  // namespace

template <class T>
void mul_add(const Context& context, const MulAddArgs<T>& args) {
  expect_shape(kOp, "x", args.x, args.y.rows, args.y.cols);
  expect_broadcast(kOp, "a", args.a, "y", args.y);
  expect_broadcast(kOp, "b", args.b, "y", args.y);
  choose(kOp, mul_add_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<MulAddArgs<T>>> mul_add_variants() {
  return kVariants<T>;
}

template void mul_add<float>(const Context&, const MulAddArgs<float>&);
template void mul_add<double>(const Context&, const MulAddArgs<double>&);
template std::span<const Variant<MulAddArgs<float>>> mul_add_variants<float>();
template std::span<const Variant<MulAddArgs<double>>> mul_add_variants<double>();

}  // namespace gneiss::kernels
