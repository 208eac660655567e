// The contract of to_dense: what its arguments must be, and what runs it.
#include "kernels/to_dense.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "to_dense";

template <class T>
void check(const Context&, const ToDenseArgs<T>& args) {
  expect_pattern(kOp, args.a);
  expect_equal(kOp, length_of("values", args.values), nonzeros_of(args.a));
  expect_shape(kOp, "dst", args.dst, args.a.rows, args.a.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<ToDenseArgs<T>>("cpu", cpu::to_dense),
                                  reference_variant<ToDenseArgs<T>>(reference::to_dense<T>)};

}  // namespace

GNEISS_CONTRACT(to_dense, ToDenseArgs)

}  // namespace gneiss::kernels
