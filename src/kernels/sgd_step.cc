// Contract and dispatch of sgd_step.
#include "kernels/sgd_step.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "sgd_step";

template <class T>
constexpr std::array kVariants = {f32_variant<SgdStepArgs, T>("cpu", cpu::sgd_step),
                                  reference_variant<SgdStepArgs, T>(reference::sgd_step<T>)};

}  // namespace

template <class T>
void sgd_step(const Context& context, const SgdStepArgs<T>& args) {
  expect_equal(kOp, length_of("g", args.g), length_of("w", args.w));
  if (args.momentum != 0) expect_equal(kOp, length_of("velocity", args.velocity), length_of("w", args.w));
  choose(kOp, sgd_step_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<SgdStepArgs<T>>> sgd_step_variants() {
  return kVariants<T>;
}

template void sgd_step<float>(const Context&, const SgdStepArgs<float>&);
template void sgd_step<double>(const Context&, const SgdStepArgs<double>&);
template std::span<const Variant<SgdStepArgs<float>>> sgd_step_variants<float>();
template std::span<const Variant<SgdStepArgs<double>>> sgd_step_variants<double>();

}  // namespace gneiss::kernels
