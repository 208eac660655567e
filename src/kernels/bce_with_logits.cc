// Contract and dispatch of bce_with_logits.
#include "kernels/bce_with_logits.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "bce_with_logits";

template <class T>
constexpr std::array kVariants = {
    f32_variant<BceWithLogitsArgs, T>("cpu", cpu::bce_with_logits, cpu::bce_with_logits_bands),
    reference_variant<BceWithLogitsArgs, T>(reference::bce_with_logits<T>)};

}  // namespace

template <class T>
void bce_with_logits(const Context& context, const BceWithLogitsArgs<T>& args) {
  expect_shape(kOp, "targets", args.targets, args.logits.rows, args.logits.cols);
  if (args.dlogits.rows > 0) expect_shape(kOp, "dlogits", args.dlogits, args.logits.rows, args.logits.cols);
  expect_shape(kOp, "loss", args.loss, 1, 1);
  expect_row_list(kOp, args.rows, args.logits.rows);
  expect_workspace(kOp, context, loss_workspace_bytes(args.logits.rows));
  choose(kOp, bce_with_logits_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<BceWithLogitsArgs<T>>> bce_with_logits_variants() {
  return kVariants<T>;
}

template void bce_with_logits<float>(const Context&, const BceWithLogitsArgs<float>&);
template void bce_with_logits<double>(const Context&, const BceWithLogitsArgs<double>&);
template std::span<const Variant<BceWithLogitsArgs<float>>> bce_with_logits_variants<float>();
template std::span<const Variant<BceWithLogitsArgs<double>>> bce_with_logits_variants<double>();

}  // namespace gneiss::kernels
