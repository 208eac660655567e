// The contract of binary: what its arguments must be, and what runs it.
#include "kernels/binary.h"

#include "base/error.h"
#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "binary";

template <class T>
void check(const Context&, const BinaryArgs<T>& args) {
  expect_broadcast(kOp, "a", args.a, "c", args.c);
  expect_broadcast(kOp, "b", args.b, "c", args.c);
  if (args.fn == Binary::kMaximum || args.fn == Binary::kMinimum) {
    expect_shape(kOp, "a", args.a, args.c.rows, args.c.cols);
    expect_shape(kOp, "b", args.b, args.c.rows, args.c.cols);
  }
}

template <class T>
constexpr std::array kVariants = {f32_variant<BinaryArgs<T>>("cpu", cpu::binary),
                                  reference_variant<BinaryArgs<T>>(reference::binary<T>)};

}  // namespace

GNEISS_CONTRACT(binary, BinaryArgs)

}  // namespace gneiss::kernels
