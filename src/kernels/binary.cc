// Contract and dispatch of binary.
#include "kernels/binary.h"

#include "base/error.h"
#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "binary";

template <class T>
constexpr std::array kVariants = {f32_variant<BinaryArgs, T>("cpu", cpu::binary),
                                  reference_variant<BinaryArgs, T>(reference::binary<T>)};

}  // namespace

template <class T>
void binary(const Context& context, const BinaryArgs<T>& args) {
  expect_broadcast(kOp, "a", args.a, "c", args.c);
  expect_broadcast(kOp, "b", args.b, "c", args.c);
  if (args.fn == Binary::kMaximum || args.fn == Binary::kMinimum) {
    expect_shape(kOp, "a", args.a, args.c.rows, args.c.cols);
    expect_shape(kOp, "b", args.b, args.c.rows, args.c.cols);
  }
  choose(kOp, binary_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<BinaryArgs<T>>> binary_variants() {
  return kVariants<T>;
}

template void binary<float>(const Context&, const BinaryArgs<float>&);
template void binary<double>(const Context&, const BinaryArgs<double>&);
template std::span<const Variant<BinaryArgs<float>>> binary_variants<float>();
template std::span<const Variant<BinaryArgs<double>>> binary_variants<double>();

}  // namespace gneiss::kernels
