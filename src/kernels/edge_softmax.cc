// Contract and dispatch of edge_softmax.
#include "kernels/edge_softmax.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "edge_softmax";

template <class T>
constexpr std::array kVariants = {f32_variant<EdgeSoftmaxArgs, T>("cpu", cpu::edge_softmax),
                                  reference_variant<EdgeSoftmaxArgs, T>(reference::edge_softmax<T>)};

}  // namespace

template <class T>
void edge_softmax(const Context& context, const EdgeSoftmaxArgs<T>& args) {
  expect_offsets(kOp, args.offsets, args.e.rows);
  expect_shape(kOp, "a", args.a, args.e.rows, args.e.cols);
  choose(kOp, edge_softmax_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<EdgeSoftmaxArgs<T>>> edge_softmax_variants() {
  return kVariants<T>;
}

template void edge_softmax<float>(const Context&, const EdgeSoftmaxArgs<float>&);
template void edge_softmax<double>(const Context&, const EdgeSoftmaxArgs<double>&);
template std::span<const Variant<EdgeSoftmaxArgs<float>>> edge_softmax_variants<float>();
template std::span<const Variant<EdgeSoftmaxArgs<double>>> edge_softmax_variants<double>();

}  // namespace gneiss::kernels
