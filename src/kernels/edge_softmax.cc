// The contract of edge_softmax: what its arguments must be, and what runs it.
#include "kernels/edge_softmax.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "edge_softmax";

template <class T>
void check(const Context&, const EdgeSoftmaxArgs<T>& args) {
  expect_offsets(kOp, args.offsets, args.e.rows);
  expect_shape(kOp, "a", args.a, args.e.rows, args.e.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<EdgeSoftmaxArgs<T>>("cpu", cpu::edge_softmax),
                                  reference_variant<EdgeSoftmaxArgs<T>>(reference::edge_softmax<T>)};

}  // namespace

GNEISS_CONTRACT(edge_softmax, EdgeSoftmaxArgs)

}  // namespace gneiss::kernels
