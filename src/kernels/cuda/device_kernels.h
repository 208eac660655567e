// The kernels of a device: at most one an op, each for f32 in memory of the device.
//
// There are two tables of the same kernels. `cuda` is what nvcc makes of their text; `emulated` is what the host's
// compiler makes of it, on fibers (emulation.h). An op that is in neither has no kernel, and a program that needs it is
// refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "kernels/adam_step.h"
#include "kernels/binary.h"
#include "kernels/column_groups.h"
#include "kernels/copy_columns.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/fill.h"
#include "kernels/gather.h"
#include "kernels/gemm.h"
#include "kernels/mul_add.h"
#include "kernels/sddmm.h"
#include "kernels/sgd_step.h"
#include "kernels/spmm.h"
#include "kernels/spx_gemm.h"
#include "kernels/sum_rows.h"
#include "kernels/to_dense.h"
#include "kernels/unary.h"
#include "kernels/unary_grad.h"

namespace gneiss::kernels {

/// Where a device kernel runs. Kernels enqueue and do not wait.
struct DeviceContext {
  void* stream = nullptr;
  DeviceSpan<std::byte> workspace;  ///< at least what DeviceKernel::workspace_bytes says, aligned to 64 bytes
  std::int64_t most_blocks = 1056;  ///< of kernels whose threads share items, as many as a card holds at once
};

template <template <class, Space> class Args>
using OnDevice = Args<float, Space::kDevice>;

template <class Args>
struct DeviceKernel {
  std::string_view name;
  /// Why it cannot run on these arguments (shapes only: data may be null), or "" if it can.
  std::string_view (*declines)(const Args& args) = nullptr;
  std::size_t (*workspace_bytes)(const Args& args) = nullptr;
  void (*run)(const DeviceContext& context, const Args& args) = nullptr;
};

using DeviceKernels = std::tuple<
    DeviceKernel<OnDevice<AdamStepArgs>>, DeviceKernel<OnDevice<BinaryArgs>>, DeviceKernel<OnDevice<ColumnGroupsArgs>>,
    DeviceKernel<OnDevice<CopyColumnsArgs>>, DeviceKernel<OnDevice<CrossEntropyArgs>>,
    DeviceKernel<OnDevice<DropoutArgs>>, DeviceKernel<OnDevice<FillArgs>>, DeviceKernel<OnDevice<GatherArgs>>,
    DeviceKernel<OnDevice<GemmArgs>>, DeviceKernel<OnDevice<MulAddArgs>>, DeviceKernel<OnDevice<SddmmArgs>>,
    DeviceKernel<OnDevice<SgdStepArgs>>, DeviceKernel<OnDevice<SpmmArgs>>, DeviceKernel<OnDevice<SpxGemmArgs>>,
    DeviceKernel<OnDevice<SumRowsArgs>>, DeviceKernel<OnDevice<ToDenseArgs>>, DeviceKernel<OnDevice<UnaryArgs>>,
    DeviceKernel<OnDevice<UnaryGradArgs>>>;

namespace internal {
template <class Entry, class Table>
struct IsIn;
template <class Entry, class... All>
struct IsIn<Entry, std::tuple<All...>> {
  static constexpr bool kValue = (std::is_same_v<Entry, All> || ...);
};
}  // namespace internal

/// The kernel for these arguments, or null.
template <class Args>
const DeviceKernel<Args>* find_kernel(const DeviceKernels& kernels) {
  if constexpr (internal::IsIn<DeviceKernel<Args>, DeviceKernels>::kValue) {
    return &std::get<DeviceKernel<Args>>(kernels);
  } else {
    return nullptr;
  }
}

const DeviceKernels& emulated_kernels();
/// Null in a build without CUDA.
const DeviceKernels* cuda_kernels();

/// Throws kInternal: the card took no launch, for `reason`.
[[noreturn]] void throw_not_launched(const char* reason);

}  // namespace gneiss::kernels
