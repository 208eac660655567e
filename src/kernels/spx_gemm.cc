// The contract of spx_gemm: what its arguments must be, and what runs it.
#include "kernels/spx_gemm.h"

#include "kernels/contract.h"

namespace gneiss::kernels {
namespace {

constexpr std::string_view kOp = "spx_gemm";

template <class T>
void check(const Context&, const SpxGemmArgs<T>& args) {
  expect_pattern(kOp, args.a);
  expect_equal(kOp, length_of("values", args.values), nonzeros_of(args.a));
  expect_equal(kOp, rows_of("b", args.b), cols_of(args.a));
  expect_shape(kOp, "c", args.c, args.a.rows, args.b.cols);
}

template <class T>
constexpr std::array kVariants = {f32_variant<SpxGemmArgs<T>>("cpu", cpu::spx_gemm),
                                  reference_variant<SpxGemmArgs<T>>(reference::spx_gemm<T>)};

}  // namespace

GNEISS_CONTRACT(spx_gemm, SpxGemmArgs)

}  // namespace gneiss::kernels
