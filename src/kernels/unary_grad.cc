// The contract of unary_grad: what its arguments must be, and what runs it.
#include "kernels/unary_grad.h"

#include "base/error.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "unary_grad";

template <class T>
void check(const Context&, const UnaryGradArgs<T>& args) {
  GNEISS_CHECK(args.fn != Unary::kAffine && args.fn != Unary::kLog, ErrorCode::kUnsupported,
               "unary_grad: {} has no gradient in terms of its output", args.fn == Unary::kLog ? "log" : "affine");
  expect_shape(kOp, "dy", args.dy, args.y.rows, args.y.cols);
  expect_shape(kOp, "dx", args.dx, args.y.rows, args.y.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<UnaryGradArgs<T>>("cpu", cpu::unary_grad),
                                  reference_variant<UnaryGradArgs<T>>(reference::unary_grad<T>)};

}  // namespace

GNEISS_CONTRACT(unary_grad, UnaryGradArgs)

}  // namespace gneiss::kernels
