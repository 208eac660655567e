// Contract and dispatch of adam_step.
#include "kernels/adam_step.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "adam_step";

template <class T>
constexpr std::array kVariants = {f32_variant<AdamStepArgs, T>("cpu", cpu::adam_step),
                                  reference_variant<AdamStepArgs, T>(reference::adam_step<T>)};

}  // namespace

template <class T>
void adam_step(const Context& context, const AdamStepArgs<T>& args) {
  expect_equal(kOp, length_of("g", args.g), length_of("w", args.w));
  expect_equal(kOp, length_of("m", args.m), length_of("w", args.w));
  expect_equal(kOp, length_of("v", args.v), length_of("w", args.w));
  choose(kOp, adam_step_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<AdamStepArgs<T>>> adam_step_variants() {
  return kVariants<T>;
}

template void adam_step<float>(const Context&, const AdamStepArgs<float>&);
template void adam_step<double>(const Context&, const AdamStepArgs<double>&);
template std::span<const Variant<AdamStepArgs<float>>> adam_step_variants<float>();
template std::span<const Variant<AdamStepArgs<double>>> adam_step_variants<double>();

}  // namespace gneiss::kernels
