// The contract of unary: what its arguments must be, and what runs it.
#include "kernels/unary.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "unary";

template <class T>
void check(const Context&, const UnaryArgs<T>& args) {
  expect_shape(kOp, "y", args.y, args.x.rows, args.x.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<UnaryArgs<T>>("cpu", cpu::unary),
                                  reference_variant<UnaryArgs<T>>(reference::unary<T>)};

}  // namespace

GNEISS_CONTRACT(unary, UnaryArgs)

}  // namespace gneiss::kernels
