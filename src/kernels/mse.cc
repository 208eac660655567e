// The contract of mse: what its arguments must be, and what runs it.
#include "kernels/mse.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "mse";

template <class T>
void check(const Context& context, const MseArgs<T>& args) {
  expect_masked_loss(kOp, args);
  expect_workspace(kOp, context, loss_workspace_bytes(args.logits.rows));
}

template <class T>
constexpr std::array kVariants = {f32_variant<MseArgs<T>>("cpu", cpu::mse, cpu::mse_bands),
                                  reference_variant<MseArgs<T>>(reference::mse<T>)};

}  // namespace

GNEISS_CONTRACT(mse, MseArgs)

}  // namespace gneiss::kernels
