// Contract and dispatch of edge_softmax_grad.
#include "kernels/edge_softmax_grad.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "edge_softmax_grad";

template <class T>
constexpr std::array kVariants = {f32_variant<EdgeSoftmaxGradArgs, T>("cpu", cpu::edge_softmax_grad),
                                  reference_variant<EdgeSoftmaxGradArgs, T>(reference::edge_softmax_grad<T>)};

}  // namespace

template <class T>
void edge_softmax_grad(const Context& context, const EdgeSoftmaxGradArgs<T>& args) {
  expect_offsets(kOp, args.offsets, args.a.rows);
  expect_shape(kOp, "da", args.da, args.a.rows, args.a.cols);
  expect_shape(kOp, "de", args.de, args.a.rows, args.a.cols);
  choose(kOp, edge_softmax_grad_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<EdgeSoftmaxGradArgs<T>>> edge_softmax_grad_variants() {
  return kVariants<T>;
}

template void edge_softmax_grad<float>(const Context&, const EdgeSoftmaxGradArgs<float>&);
template void edge_softmax_grad<double>(const Context&, const EdgeSoftmaxGradArgs<double>&);
template std::span<const Variant<EdgeSoftmaxGradArgs<float>>> edge_softmax_grad_variants<float>();
template std::span<const Variant<EdgeSoftmaxGradArgs<double>>> edge_softmax_grad_variants<double>();

}  // namespace gneiss::kernels
