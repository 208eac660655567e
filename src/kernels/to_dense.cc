// Contract and dispatch of to_dense.
#include "kernels/to_dense.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "to_dense";

template <class T>
constexpr std::array kVariants = {f32_variant<ToDenseArgs, T>("cpu", cpu::to_dense),
                                  reference_variant<ToDenseArgs, T>(reference::to_dense<T>)};

}  // namespace

template <class T>
void to_dense(const Context& context, const ToDenseArgs<T>& args) {
  expect_pattern(kOp, args.a);
  expect_equal(kOp, length_of("values", args.values), nonzeros_of(args.a));
  expect_shape(kOp, "dst", args.dst, args.a.rows, args.a.cols);
  choose(kOp, to_dense_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<ToDenseArgs<T>>> to_dense_variants() {
  return kVariants<T>;
}

template void to_dense<float>(const Context&, const ToDenseArgs<float>&);
template void to_dense<double>(const Context&, const ToDenseArgs<double>&);
template std::span<const Variant<ToDenseArgs<float>>> to_dense_variants<float>();
template std::span<const Variant<ToDenseArgs<double>>> to_dense_variants<double>();

}  // namespace gneiss::kernels
