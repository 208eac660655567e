// The table of this compiler's kernels, and the scratch that each needs.
#include "kernels/cuda/ops.h"

namespace gneiss::kernels {
namespace GNEISS_DEVICE {
namespace {

template <class Args>
std::size_t no_workspace(const Args&) {
  return 0;
}

template <class Args>
constexpr DeviceKernel<Args> kernel(void (*run)(const DeviceContext&, const Args&),
                                    std::size_t (*workspace)(const Args&) = no_workspace<Args>) {
  return {"cuda", workspace, run};
}

constexpr DeviceKernels kTable = {kernel(adam_step),
                                  kernel(arg_sources),
                                  kernel(attention, attention_workspace),
                                  kernel(attention_grad, attention_grad_workspace),
                                  kernel(batch_norm, batch_norm_workspace),
                                  kernel(batch_norm_grad, batch_norm_grad_workspace),
                                  kernel(batch_norm_inference),
                                  kernel(batch_norm_update),
                                  kernel(bce_with_logits, bce_with_logits_workspace),
                                  kernel(binary),
                                  kernel(clip_norm, clip_norm_workspace),
                                  kernel(column_groups),
                                  kernel(copy_columns),
                                  kernel(count_scores, count_scores_workspace),
                                  kernel(cross_entropy, cross_entropy_workspace),
                                  kernel(dropout),
                                  kernel(edge_softmax),
                                  kernel(edge_softmax_grad),
                                  kernel(extreme_grad),
                                  kernel(fill),
                                  kernel(gather),
                                  kernel(gemm, gemm_workspace),
                                  kernel(layer_norm, layer_norm_workspace),
                                  kernel(layer_norm_grad, layer_norm_grad_workspace),
                                  kernel(mse, mse_workspace),
                                  kernel(mul_add),
                                  kernel(sddmm),
                                  kernel(segment_arg_grad),
                                  kernel(segment_reduce),
                                  kernel(sgd_step),
                                  kernel(spmm, spmm_workspace),
                                  kernel(spmm_arg_grad),
                                  kernel(spmm_arg_weight_grad),
                                  kernel(spmm_units, spmm_units_workspace),
                                  kernel(spx_gemm, spx_gemm_workspace),
                                  kernel(sum_peer_rows),
                                  kernel(sum_rows, sum_rows_workspace),
                                  kernel(to_dense),
                                  kernel(to_float),
                                  kernel(to_half),
                                  kernel(unary),
                                  kernel(unary_grad)};

template <class Args>
std::string_view takes_all(const Args&) {
  return {};
}

template <class Args>
constexpr DeviceVariant<Args> morphling(void (*run)(const DeviceContext&, const Args&),
                                        std::string_view (*declines)(const Args&) = takes_all<Args>) {
  return {{"morphling", no_workspace<Args>, run}, declines};
}

constexpr DeviceVariants kVariantTable = {morphling(spmm_morphling, spmm_morphling_declines),
                                          morphling(spx_gemm_morphling), morphling(implicit_transpose)};

}  // namespace
}  // namespace GNEISS_DEVICE

#ifdef __CUDACC__
const DeviceKernels* cuda_kernels() { return &cuda::kTable; }
const DeviceVariants* cuda_variants() { return &cuda::kVariantTable; }
#else
const DeviceKernels& emulated_kernels() { return emulated::kTable; }
const DeviceVariants& emulated_variants() { return emulated::kVariantTable; }
#endif

}  // namespace gneiss::kernels
