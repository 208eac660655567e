// Contract and dispatch of spx_gemm.
#include "kernels/spx_gemm.h"

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "spx_gemm";

template <class T>
constexpr std::array kVariants = {f32_variant<SpxGemmArgs, T>("cpu", cpu::spx_gemm),
                                  reference_variant<SpxGemmArgs, T>(reference::spx_gemm<T>)};

}  // namespace

template <class T>
void spx_gemm(const Context& context, const SpxGemmArgs<T>& args) {
  expect_pattern(kOp, args.a);
  expect_equal(kOp, length_of("values", args.values), nonzeros_of(args.a));
  expect_equal(kOp, rows_of("b", args.b), cols_of(args.a));
  expect_shape(kOp, "c", args.c, args.a.rows, args.b.cols);
  choose(kOp, spx_gemm_variants<T>(), args).run(context, args);
}

template <class T>
std::span<const Variant<SpxGemmArgs<T>>> spx_gemm_variants() {
  return kVariants<T>;
}

template void spx_gemm<float>(const Context&, const SpxGemmArgs<float>&);
template void spx_gemm<double>(const Context&, const SpxGemmArgs<double>&);
template std::span<const Variant<SpxGemmArgs<float>>> spx_gemm_variants<float>();
template std::span<const Variant<SpxGemmArgs<double>>> spx_gemm_variants<double>();

}  // namespace gneiss::kernels
