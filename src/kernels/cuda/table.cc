// The table of this compiler's kernels, and what each of them does not take.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels {
namespace GNEISS_DEVICE {
namespace {

template <class Args>
std::string_view takes_all(const Args&) {
  return {};
}

template <class Args>
std::size_t no_workspace(const Args&) {
  return 0;
}

std::string_view declines_half_gemm(const OnDevice<GemmArgs>& args) {
  return args.a_half.type == HalfType::kNone ? std::string_view() : "16-bit values have no kernel on devices yet";
}

std::string_view declines_half_spmm(const OnDevice<SpmmArgs>& args) {
  return args.x_half.type == HalfType::kNone ? std::string_view() : "16-bit values have no kernel on devices yet";
}

template <class Args>
constexpr DeviceKernel<Args> kernel(void (*run)(const DeviceContext&, const Args&)) {
  return {"cuda", takes_all<Args>, no_workspace<Args>, run};
}

constexpr DeviceKernels kTable = {
    kernel(adam_step),
    kernel(binary),
    kernel(column_groups),
    kernel(copy_columns),
    DeviceKernel<OnDevice<CrossEntropyArgs>>{"cuda", takes_all, cross_entropy_workspace, cross_entropy},
    kernel(dropout),
    kernel(fill),
    kernel(gather),
    DeviceKernel<OnDevice<GemmArgs>>{"cuda", declines_half_gemm, gemm_workspace, gemm},
    kernel(mul_add),
    kernel(sddmm),
    kernel(sgd_step),
    DeviceKernel<OnDevice<SpmmArgs>>{"cuda", declines_half_spmm, no_workspace, spmm},
    kernel(spx_gemm),
    DeviceKernel<OnDevice<SumRowsArgs>>{"cuda", takes_all, sum_rows_workspace, sum_rows},
    kernel(to_dense),
    kernel(unary),
    kernel(unary_grad)};

}  // namespace
}  // namespace GNEISS_DEVICE

#ifdef __CUDACC__
const DeviceKernels* cuda_kernels() { return &cuda::kTable; }
#else
const DeviceKernels& emulated_kernels() { return emulated::kTable; }
#endif

}  // namespace gneiss::kernels
