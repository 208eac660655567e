// The kernels of a device: at most one an op, each for f32 in memory of the device.
//
// There are two tables of the same kernels. `cuda` is what nvcc makes of their text; `emulated` is what the host's
// compiler makes of it, on fibers (emulation.h). Every op has a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

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
#include "kernels/cuda/count_scores.h"
#include "kernels/cuda/epilogue.h"
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
#include "kernels/spmm_units.h"
#include "kernels/spx_gemm.h"
#include "kernels/sum_peer_rows.h"
#include "kernels/sum_rows.h"
#include "kernels/to_dense.h"
#include "kernels/to_float.h"
#include "kernels/to_half.h"
#include "kernels/unary.h"
#include "kernels/unary_grad.h"

namespace gneiss::kernels {

/// What changes from one training step to the next, in memory of the device, so that a recorded step can be run again.
struct StepNumbers {
  std::uint64_t dropout_key = 0;
  double lr = 0;
  float adam_rate = 0;          ///< the learning rate, corrected for the first moment's start
  float adam_inverse_root = 0;  ///< what the root of the second moment is multiplied with
  bool first = true;            ///< of all steps
};

/// Where a device kernel runs. Kernels enqueue and do not wait.
struct DeviceContext {
  void* stream = nullptr;
  DeviceSpan<std::byte> workspace;  ///< at least what DeviceKernel::workspace_bytes says, aligned to 64 bytes
  std::int64_t most_blocks = 1056;  ///< of kernels whose threads share items, as many as a card holds at once
  /// Null: what changes from step to step is as the arguments say.
  const StepNumbers* step = nullptr;
  /// What follows the kernel while its result is in registers; null: nothing. Sums of spmm, products that are not cut,
  /// attention and elementwise ops take one; their result may then have no place.
  const Epilogue* epilogue = nullptr;
  /// Wide products may take tensor cores, in f32's accuracy and with bits of their own (gemm_tf32.h).
  bool tensor_cores = false;
  /// An update does nothing where this number is not finite; null: it always does.
  const float* guard = nullptr;
};

template <template <class, Space> class Args>
using OnDevice = Args<float, Space::kDevice>;

template <class Args>
struct DeviceKernel {
  std::string_view name;
  /// Scratch for these arguments (shapes only: data may be null).
  std::size_t (*workspace_bytes)(const Args& args) = nullptr;
  void (*run)(const DeviceContext& context, const Args& args) = nullptr;
};

using DeviceKernels = std::tuple<
    DeviceKernel<OnDevice<AdamStepArgs>>, DeviceKernel<OnDevice<ArgSourcesArgs>>, DeviceKernel<OnDevice<AttentionArgs>>,
    DeviceKernel<OnDevice<AttentionGradArgs>>, DeviceKernel<OnDevice<BatchNormArgs>>,
    DeviceKernel<OnDevice<BatchNormGradArgs>>, DeviceKernel<OnDevice<BatchNormInferenceArgs>>,
    DeviceKernel<OnDevice<BatchNormUpdateArgs>>, DeviceKernel<OnDevice<BceWithLogitsArgs>>,
    DeviceKernel<OnDevice<BinaryArgs>>, DeviceKernel<OnDevice<ClipNormArgs>>, DeviceKernel<OnDevice<ColumnGroupsArgs>>,
    DeviceKernel<OnDevice<CopyColumnsArgs>>, DeviceKernel<OnDevice<CountScoresArgs>>,
    DeviceKernel<OnDevice<CrossEntropyArgs>>, DeviceKernel<OnDevice<DropoutArgs>>,
    DeviceKernel<OnDevice<EdgeSoftmaxArgs>>, DeviceKernel<OnDevice<EdgeSoftmaxGradArgs>>,
    DeviceKernel<OnDevice<ExtremeGradArgs>>, DeviceKernel<OnDevice<FillArgs>>, DeviceKernel<OnDevice<GatherArgs>>,
    DeviceKernel<OnDevice<GemmArgs>>, DeviceKernel<OnDevice<LayerNormArgs>>, DeviceKernel<OnDevice<LayerNormGradArgs>>,
    DeviceKernel<OnDevice<MseArgs>>, DeviceKernel<OnDevice<MulAddArgs>>, DeviceKernel<OnDevice<SddmmArgs>>,
    DeviceKernel<OnDevice<SegmentArgGradArgs>>, DeviceKernel<OnDevice<SegmentReduceArgs>>,
    DeviceKernel<OnDevice<SgdStepArgs>>, DeviceKernel<OnDevice<SpmmArgs>>, DeviceKernel<OnDevice<SpmmArgGradArgs>>,
    DeviceKernel<OnDevice<SpmmArgWeightGradArgs>>, DeviceKernel<OnDevice<SpmmUnitsArgs>>,
    DeviceKernel<OnDevice<SpxGemmArgs>>, DeviceKernel<OnDevice<SumPeerRowsArgs>>, DeviceKernel<OnDevice<SumRowsArgs>>,
    DeviceKernel<OnDevice<ToDenseArgs>>, DeviceKernel<OnDevice<ToFloatArgs>>, DeviceKernel<OnDevice<ToHalfArgs>>,
    DeviceKernel<OnDevice<UnaryArgs>>, DeviceKernel<OnDevice<UnaryGradArgs>>>;

/// The kernel for these arguments: an op that has none does not compile (call.cc asks for that of each).
template <class Args>
const DeviceKernel<Args>& find_kernel(const DeviceKernels& kernels) {
  return std::get<DeviceKernel<Args>>(kernels);
}

const DeviceKernels& emulated_kernels();
/// Null in a build without CUDA.
const DeviceKernels* cuda_kernels();

/// Throws kInternal: the card took no launch, for `reason`.
[[noreturn]] void throw_not_launched(const char* reason);

}  // namespace gneiss::kernels
