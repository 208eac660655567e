// Contract and dispatch of mse.
#include "kernels/mse.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "mse";

template <class T>
constexpr std::array kVariants = {f32_variant<MseArgs, T>("cpu", cpu::mse, cpu::mse_bands),
                                  reference_variant<MseArgs, T>(reference::mse<T>)};

}  // namespace

template <class T>
void mse(const Context& context, const MseArgs<T>& args) {
  expect_shape(kOp, "targets", args.targets, args.logits.rows, args.logits.cols);
  if (args.dlogits.rows > 0) expect_shape(kOp, "dlogits", args.dlogits, args.logits.rows, args.logits.cols);
  expect_shape(kOp, "loss", args.loss, 1, 1);
  expect_row_list(kOp, args.rows, args.logits.rows);
  expect_workspace(kOp, context, loss_workspace_bytes(args.logits.rows));
  choose(kOp, mse_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<MseArgs<T>>> mse_variants() {
  return kVariants<T>;
}

template void mse<float>(const Context&, const MseArgs<float>&);
template void mse<double>(const Context&, const MseArgs<double>&);
template std::span<const Variant<MseArgs<float>>> mse_variants<float>();
template std::span<const Variant<MseArgs<double>>> mse_variants<double>();

}  // namespace gneiss::kernels
