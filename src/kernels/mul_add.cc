// The contract of mul_add: what its arguments must be, and what runs it.
#include "kernels/mul_add.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "mul_add";

template <class T>
void check(const Context&, const MulAddArgs<T>& args) {
  expect_shape(kOp, "x", args.x, args.y.rows, args.y.cols);
  expect_broadcast(kOp, "a", args.a, "y", args.y);
  expect_broadcast(kOp, "b", args.b, "y", args.y);
}

template <class T>
constexpr std::array kVariants = {f32_variant<MulAddArgs<T>>("cpu", cpu::mul_add),
                                  reference_variant<MulAddArgs<T>>(reference::mul_add<T>)};

}  // namespace

GNEISS_CONTRACT(mul_add, MulAddArgs)

}  // namespace gneiss::kernels
