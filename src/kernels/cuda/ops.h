// The device kernels of this compiler, by op; table.cc lists them. Contracts stand in kernels/<op>.h.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/variants.h"

namespace gneiss::kernels::GNEISS_DEVICE {

void adam_step(const DeviceContext& context, const OnDevice<AdamStepArgs>& args);
void arg_sources(const DeviceContext& context, const OnDevice<ArgSourcesArgs>& args);
void attention(const DeviceContext& context, const OnDevice<AttentionArgs>& args);
std::size_t attention_workspace(const OnDevice<AttentionArgs>& args);
void attention_grad(const DeviceContext& context, const OnDevice<AttentionGradArgs>& args);
std::size_t attention_grad_workspace(const OnDevice<AttentionGradArgs>& args);
void batch_norm(const DeviceContext& context, const OnDevice<BatchNormArgs>& args);
std::size_t batch_norm_workspace(const OnDevice<BatchNormArgs>& args);
void batch_norm_grad(const DeviceContext& context, const OnDevice<BatchNormGradArgs>& args);
std::size_t batch_norm_grad_workspace(const OnDevice<BatchNormGradArgs>& args);
void batch_norm_inference(const DeviceContext& context, const OnDevice<BatchNormInferenceArgs>& args);
void batch_norm_update(const DeviceContext& context, const OnDevice<BatchNormUpdateArgs>& args);
void bce_with_logits(const DeviceContext& context, const OnDevice<BceWithLogitsArgs>& args);
std::size_t bce_with_logits_workspace(const OnDevice<BceWithLogitsArgs>& args);
void binary(const DeviceContext& context, const OnDevice<BinaryArgs>& args);
void clip_norm(const DeviceContext& context, const OnDevice<ClipNormArgs>& args);
std::size_t clip_norm_workspace(const OnDevice<ClipNormArgs>& args);
void column_groups(const DeviceContext& context, const OnDevice<ColumnGroupsArgs>& args);
void copy_columns(const DeviceContext& context, const OnDevice<CopyColumnsArgs>& args);
void count_scores(const DeviceContext& context, const OnDevice<CountScoresArgs>& args);
std::size_t count_scores_workspace(const OnDevice<CountScoresArgs>& args);
void cross_entropy(const DeviceContext& context, const OnDevice<CrossEntropyArgs>& args);
std::size_t cross_entropy_workspace(const OnDevice<CrossEntropyArgs>& args);
void dropout(const DeviceContext& context, const OnDevice<DropoutArgs>& args);
void edge_softmax(const DeviceContext& context, const OnDevice<EdgeSoftmaxArgs>& args);
void edge_softmax_grad(const DeviceContext& context, const OnDevice<EdgeSoftmaxGradArgs>& args);
void extreme_grad(const DeviceContext& context, const OnDevice<ExtremeGradArgs>& args);
void fill(const DeviceContext& context, const OnDevice<FillArgs>& args);
void gather(const DeviceContext& context, const OnDevice<GatherArgs>& args);
void gemm(const DeviceContext& context, const OnDevice<GemmArgs>& args);
std::size_t gemm_workspace(const OnDevice<GemmArgs>& args);
void layer_norm(const DeviceContext& context, const OnDevice<LayerNormArgs>& args);
std::size_t layer_norm_workspace(const OnDevice<LayerNormArgs>& args);
void layer_norm_grad(const DeviceContext& context, const OnDevice<LayerNormGradArgs>& args);
std::size_t layer_norm_grad_workspace(const OnDevice<LayerNormGradArgs>& args);
void mse(const DeviceContext& context, const OnDevice<MseArgs>& args);
std::size_t mse_workspace(const OnDevice<MseArgs>& args);
void mul_add(const DeviceContext& context, const OnDevice<MulAddArgs>& args);
void sddmm(const DeviceContext& context, const OnDevice<SddmmArgs>& args);
void segment_arg_grad(const DeviceContext& context, const OnDevice<SegmentArgGradArgs>& args);
void segment_reduce(const DeviceContext& context, const OnDevice<SegmentReduceArgs>& args);
void sgd_step(const DeviceContext& context, const OnDevice<SgdStepArgs>& args);
void spmm(const DeviceContext& context, const OnDevice<SpmmArgs>& args);
std::size_t spmm_workspace(const OnDevice<SpmmArgs>& args);
void spmm_arg_grad(const DeviceContext& context, const OnDevice<SpmmArgGradArgs>& args);
void spmm_arg_weight_grad(const DeviceContext& context, const OnDevice<SpmmArgWeightGradArgs>& args);
void spmm_morphling(const DeviceContext& context, const OnDevice<SpmmArgs>& args);
std::string_view spmm_morphling_declines(const OnDevice<SpmmArgs>& args);
void spmm_units(const DeviceContext& context, const OnDevice<SpmmUnitsArgs>& args);
std::size_t spmm_units_workspace(const OnDevice<SpmmUnitsArgs>& args);
void spx_gemm(const DeviceContext& context, const OnDevice<SpxGemmArgs>& args);
std::size_t spx_gemm_workspace(const OnDevice<SpxGemmArgs>& args);
void spx_gemm_morphling(const DeviceContext& context, const OnDevice<SpxGemmArgs>& args);
void implicit_transpose(const DeviceContext& context, const OnDevice<ImplicitTransposeArgs>& args);
void sum_peer_rows(const DeviceContext& context, const OnDevice<SumPeerRowsArgs>& args);
void sum_rows(const DeviceContext& context, const OnDevice<SumRowsArgs>& args);
std::size_t sum_rows_workspace(const OnDevice<SumRowsArgs>& args);
void to_dense(const DeviceContext& context, const OnDevice<ToDenseArgs>& args);
void to_float(const DeviceContext& context, const OnDevice<ToFloatArgs>& args);
void to_half(const DeviceContext& context, const OnDevice<ToHalfArgs>& args);
void unary(const DeviceContext& context, const OnDevice<UnaryArgs>& args);
void unary_grad(const DeviceContext& context, const OnDevice<UnaryGradArgs>& args);

/// False where an update has to leave everything as it is.
__device__ inline bool may_update(const float* guard) {
  return guard == nullptr || *guard - *guard == 0;  // infinity and NaN less themselves are NaN
}

/// dgamma and dbeta [cols] from their sums, one behind the other: of both norms' backward.
__global__ void round_norm_slopes(const double* sums, std::int64_t cols, float* dgamma, float* dbeta);

}  // namespace gneiss::kernels::GNEISS_DEVICE
