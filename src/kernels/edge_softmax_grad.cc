// The contract of edge_softmax_grad: what its arguments must be, and what runs it.
#include "kernels/edge_softmax_grad.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "edge_softmax_grad";

template <class T>
void check(const Context&, const EdgeSoftmaxGradArgs<T>& args) {
  expect_offsets(kOp, args.offsets, args.a.rows);
  expect_shape(kOp, "da", args.da, args.a.rows, args.a.cols);
  expect_shape(kOp, "de", args.de, args.a.rows, args.a.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<EdgeSoftmaxGradArgs<T>>("cpu", cpu::edge_softmax_grad),
                                  reference_variant<EdgeSoftmaxGradArgs<T>>(reference::edge_softmax_grad<T>)};

}  // namespace

GNEISS_CONTRACT(edge_softmax_grad, EdgeSoftmaxGradArgs)

}  // namespace gneiss::kernels
