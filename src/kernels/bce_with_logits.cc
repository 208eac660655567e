// The contract of bce_with_logits: what its arguments must be, and what runs it.
#include "kernels/bce_with_logits.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "bce_with_logits";

template <class T>
void check(const Context& context, const BceWithLogitsArgs<T>& args) {
  expect_masked_loss(kOp, args);
  expect_workspace(kOp, context, loss_workspace_bytes(args.logits.rows));
}

template <class T>
constexpr std::array kVariants = {
    f32_variant<BceWithLogitsArgs<T>>("cpu", cpu::bce_with_logits, cpu::bce_with_logits_bands),
    reference_variant<BceWithLogitsArgs<T>>(reference::bce_with_logits<T>)};

}  // namespace

GNEISS_CONTRACT(bce_with_logits, BceWithLogitsArgs)

}  // namespace gneiss::kernels
