// The plainest implementation of every op: serial loops that are the definition itself, in f32 and f64.
//
// Sums are kept in f64 whatever the element type, which makes the f32 form the yardstick for the fast kernels.
// Arguments are trusted: the contracts have checked them.
#pragma once

#include "kernels/adam_step.h"
#include "kernels/arg_sources.h"
#include "kernels/attention.h"
#include "kernels/attention_grad.h"
#include "kernels/batch_norm.h"
#include "kernels/batch_norm_grad.h"
#include "kernels/batch_norm_inference.h"
#include "kernels/batch_norm_update.h"
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

namespace gneiss::kernels::reference {

template <class T>
void adam_step(const Context& context, const AdamStepArgs<T>& args);
template <class T>
void arg_sources(const Context& context, const ArgSourcesArgs<T>& args);
template <class T>
void attention(const Context& context, const AttentionArgs<T>& args);
template <class T>
void attention_grad(const Context& context, const AttentionGradArgs<T>& args);
template <class T>
void batch_norm(const Context& context, const BatchNormArgs<T>& args);
template <class T>
void batch_norm_grad(const Context& context, const BatchNormGradArgs<T>& args);
template <class T>
void batch_norm_inference(const Context& context, const BatchNormInferenceArgs<T>& args);
template <class T>
void batch_norm_update(const Context& context, const BatchNormUpdateArgs<T>& args);
template <class T>
void bce_with_logits(const Context& context, const BceWithLogitsArgs<T>& args);
template <class T>
void binary(const Context& context, const BinaryArgs<T>& args);
template <class T>
void clip_norm(const Context& context, const ClipNormArgs<T>& args);
template <class T>
void column_groups(const Context& context, const ColumnGroupsArgs<T>& args);
template <class T>
void copy_columns(const Context& context, const CopyColumnsArgs<T>& args);
template <class T>
void cross_entropy(const Context& context, const CrossEntropyArgs<T>& args);
template <class T>
void dropout(const Context& context, const DropoutArgs<T>& args);
template <class T>
void edge_softmax(const Context& context, const EdgeSoftmaxArgs<T>& args);
template <class T>
void edge_softmax_grad(const Context& context, const EdgeSoftmaxGradArgs<T>& args);
template <class T>
void extreme_grad(const Context& context, const ExtremeGradArgs<T>& args);
template <class T>
void fill(const Context& context, const FillArgs<T>& args);
template <class T>
void gather(const Context& context, const GatherArgs<T>& args);
template <class T>
void gemm(const Context& context, const GemmArgs<T>& args);
template <class T>
void layer_norm(const Context& context, const LayerNormArgs<T>& args);
template <class T>
void layer_norm_grad(const Context& context, const LayerNormGradArgs<T>& args);
template <class T>
void mse(const Context& context, const MseArgs<T>& args);
template <class T>
void mul_add(const Context& context, const MulAddArgs<T>& args);
template <class T>
void sddmm(const Context& context, const SddmmArgs<T>& args);
template <class T>
void segment_arg_grad(const Context& context, const SegmentArgGradArgs<T>& args);
template <class T>
void segment_reduce(const Context& context, const SegmentReduceArgs<T>& args);
template <class T>
void sgd_step(const Context& context, const SgdStepArgs<T>& args);
template <class T>
void spmm(const Context& context, const SpmmArgs<T>& args);
template <class T>
void spmm_arg_grad(const Context& context, const SpmmArgGradArgs<T>& args);
template <class T>
void spmm_arg_weight_grad(const Context& context, const SpmmArgWeightGradArgs<T>& args);
template <class T>
void spx_gemm(const Context& context, const SpxGemmArgs<T>& args);
template <class T>
void sum_rows(const Context& context, const SumRowsArgs<T>& args);
template <class T>
void to_dense(const Context& context, const ToDenseArgs<T>& args);

template <class T>
void to_float(const Context& context, const ToFloatArgs<T>& args);

template <class T>
void to_half(const Context& context, const ToHalfArgs<T>& args);
template <class T>
void unary(const Context& context, const UnaryArgs<T>& args);
template <class T>
void unary_grad(const Context& context, const UnaryGradArgs<T>& args);

}  // namespace gneiss::kernels::reference
