// The contract of sgd_step: what its arguments must be, and what runs it.
#include "kernels/sgd_step.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "sgd_step";

template <class T>
void check(const Context&, const SgdStepArgs<T>& args) {
  expect_equal(kOp, length_of("g", args.g), length_of("w", args.w));
  if (args.momentum != 0) expect_equal(kOp, length_of("velocity", args.velocity), length_of("w", args.w));
}

template <class T>
constexpr std::array kVariants = {f32_variant<SgdStepArgs<T>>("cpu", cpu::sgd_step),
                                  reference_variant<SgdStepArgs<T>>(reference::sgd_step<T>)};

}  // namespace

GNEISS_CONTRACT(sgd_step, SgdStepArgs)

}  // namespace gneiss::kernels
