// The fast f32 kernels: OpenMP over fixed chunks, Highway vectors chosen at run time. Arguments are trusted: the
// contracts have checked them. Every kernel gives the same bits for any number of threads.
#pragma once

#include "kernels/adam_step.h"
#include "kernels/arg_sources.h"
#include "kernels/attention.h"
#include "kernels/attention_grad.h"
#include "kernels/batch_norm.h"
#include "kernels/batch_norm_grad.h"
#include "kernels/batch_norm_inference.h"
#include "kernels/bce_with_logits.h"
#include "kernels/binary.h"
#include "kernels/clip_norm.h"
#include "kernels/column_groups.h"
#include "kernels/copy_columns.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/edge_softmax.h"
#include "kernels/edge_softmax_grad.h"
#include "kernels/extreme_grad.h"
#include "kernels/fill.h"
#include "kernels/gather.h"
#include "kernels/gemm.h"
#include "kernels/layer_norm.h"
#include "kernels/layer_norm_grad.h"
#include "kernels/mse.h"
#include "kernels/mul_add.h"
#include "kernels/sddmm.h"
#include "kernels/segment_arg_grad.h"
#include "kernels/segment_reduce.h"
#include "kernels/sgd_step.h"
#include "kernels/spmm.h"
#include "kernels/spmm_arg_grad.h"
#include "kernels/spmm_arg_weight_grad.h"
#include "kernels/spx_gemm.h"
#include "kernels/sum_rows.h"
#include "kernels/to_dense.h"
#include "kernels/to_float.h"
#include "kernels/to_half.h"
#include "kernels/unary.h"
#include "kernels/unary_grad.h"

namespace gneiss::kernels::cpu {

void adam_step(const Context& context, const AdamStepArgs<float>& args);
void arg_sources(const Context& context, const ArgSourcesArgs<float>& args);
void attention(const Context& context, const AttentionArgs<float>& args);
void attention_tiled(const Context& context, const AttentionArgs<float>& args);
void attention_grad(const Context& context, const AttentionGradArgs<float>& args);
void attention_grad_tiled(const Context& context, const AttentionGradArgs<float>& args);
void batch_norm(const Context& context, const BatchNormArgs<float>& args);
void batch_norm_grad(const Context& context, const BatchNormGradArgs<float>& args);
void batch_norm_inference(const Context& context, const BatchNormInferenceArgs<float>& args);
void bce_with_logits(const Context& context, const BceWithLogitsArgs<float>& args);
void binary(const Context& context, const BinaryArgs<float>& args);
void clip_norm(const Context& context, const ClipNormArgs<float>& args);
void column_groups(const Context& context, const ColumnGroupsArgs<float>& args);
void copy_columns(const Context& context, const CopyColumnsArgs<float>& args);
void cross_entropy(const Context& context, const CrossEntropyArgs<float>& args);
void dropout(const Context& context, const DropoutArgs<float>& args);
void edge_softmax(const Context& context, const EdgeSoftmaxArgs<float>& args);
void edge_softmax_grad(const Context& context, const EdgeSoftmaxGradArgs<float>& args);
void extreme_grad(const Context& context, const ExtremeGradArgs<float>& args);
void fill(const Context& context, const FillArgs<float>& args);
void gather(const Context& context, const GatherArgs<float>& args);
void gemm(const Context& context, const GemmArgs<float>& args);
void layer_norm(const Context& context, const LayerNormArgs<float>& args);
void layer_norm_grad(const Context& context, const LayerNormGradArgs<float>& args);
void mse(const Context& context, const MseArgs<float>& args);
void mul_add(const Context& context, const MulAddArgs<float>& args);
void sddmm(const Context& context, const SddmmArgs<float>& args);
void segment_arg_grad(const Context& context, const SegmentArgGradArgs<float>& args);
void segment_reduce(const Context& context, const SegmentReduceArgs<float>& args);
void sgd_step(const Context& context, const SgdStepArgs<float>& args);
void spmm(const Context& context, const SpmmArgs<float>& args);
void spmm_half(const Context& context, const SpmmArgs<float>& args);
void spmm_tiled(const Context& context, const SpmmArgs<float>& args);
void spmm_panels(const Context& context, const SpmmArgs<float>& args);
void spmm_arg_grad(const Context& context, const SpmmArgGradArgs<float>& args);
void spmm_arg_weight_grad(const Context& context, const SpmmArgWeightGradArgs<float>& args);
void spx_gemm(const Context& context, const SpxGemmArgs<float>& args);
void sum_rows(const Context& context, const SumRowsArgs<float>& args);
void to_dense(const Context& context, const ToDenseArgs<float>& args);
void to_float(const Context& context, const ToFloatArgs<float>& args);
void to_half(const Context& context, const ToHalfArgs<float>& args);
void unary(const Context& context, const UnaryArgs<float>& args);
void unary_grad(const Context& context, const UnaryGradArgs<float>& args);

BandKernel<AttentionArgs<float>> attention_bands(const AttentionArgs<float>& args);
BandKernel<AttentionGradArgs<float>> attention_grad_bands(const AttentionGradArgs<float>& args);
BandKernel<BceWithLogitsArgs<float>> bce_with_logits_bands(const BceWithLogitsArgs<float>& args);
BandKernel<CrossEntropyArgs<float>> cross_entropy_bands(const CrossEntropyArgs<float>& args);
BandKernel<GemmArgs<float>> gemm_bands(const GemmArgs<float>& args);
BandKernel<MseArgs<float>> mse_bands(const MseArgs<float>& args);
BandKernel<SumRowsArgs<float>> sum_rows_bands(const SumRowsArgs<float>& args);

}  // namespace gneiss::kernels::cpu
