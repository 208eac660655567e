// The contract of adam_step: what its arguments must be, and what runs it.
#include "kernels/adam_step.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "adam_step";

template <class T>
void check(const Context&, const AdamStepArgs<T>& args) {
  expect_equal(kOp, length_of("g", args.g), length_of("w", args.w));
  expect_equal(kOp, length_of("m", args.m), length_of("w", args.w));
  expect_equal(kOp, length_of("v", args.v), length_of("w", args.w));
}

template <class T>
constexpr std::array kVariants = {f32_variant<AdamStepArgs<T>>("cpu", cpu::adam_step),
                                  reference_variant<AdamStepArgs<T>>(reference::adam_step<T>)};

}  // namespace

GNEISS_CONTRACT(adam_step, AdamStepArgs)

}  // namespace gneiss::kernels
