// The contract of extreme_grad: what its arguments must be, and what runs it.
#include "kernels/extreme_grad.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "extreme_grad";

template <class T>
void check(const Context&, const ExtremeGradArgs<T>& args) {
  expect_shape(kOp, "b", args.b, args.a.rows, args.a.cols);
  expect_shape(kOp, "dy", args.dy, args.a.rows, args.a.cols);
  expect_shape(kOp, "dx", args.dx, args.a.rows, args.a.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<ExtremeGradArgs<T>>("cpu", cpu::extreme_grad),
                                  reference_variant<ExtremeGradArgs<T>>(reference::extreme_grad<T>)};

}  // namespace

GNEISS_CONTRACT(extreme_grad, ExtremeGradArgs)

}  // namespace gneiss::kernels
