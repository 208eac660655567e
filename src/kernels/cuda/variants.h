// Device kernels of other designs beside ours, for measuring these against: GNEISS_KERNEL=spmm:morphling asks for one
// by name, and nothing else does.
#pragma once

#include <string_view>
#include <tuple>

#include "kernels/cuda/device_kernels.h"

namespace gneiss::kernels {

template <class Args>
struct DeviceVariant {
  DeviceKernel<Args> kernel;
  /// Why it does not take these arguments, which go to our kernel then; empty if it does.
  std::string_view (*declines)(const Args& args) = nullptr;
};

/// The weight gradient of sparse features from their rows as they are: dw = x^T dy.
/// Shapes    x: [m,k] pattern, values: [nnz] in slot order; dy: [m,n]; dw: [k,n]
/// Aliasing  dw overlaps nothing. Added by atomics: other bits in every run.
template <class T, Space S = Space::kHost>
struct ImplicitTransposeArgs {
  SparsePatternIn<S> x;
  SpanIn<const T, S> values;
  ConstMatrixView<T, S> dy;
  MatrixView<T, S> dw;
};

///   spmm:morphling      a block for each row, a thread for each column
///   spx_gemm:morphling  likewise; on the way back the rows of X as they are, of which no transposed copy is made
using DeviceVariants = std::tuple<DeviceVariant<OnDevice<SpmmArgs>>, DeviceVariant<OnDevice<SpxGemmArgs>>,
                                  DeviceVariant<OnDevice<ImplicitTransposeArgs>>>;

const DeviceVariants& emulated_variants();
/// Null in a build without CUDA.
const DeviceVariants* cuda_variants();

/// Those of the compiler that made `kernels`.
inline const DeviceVariants& variants_beside(const DeviceKernels& kernels) {
  return &kernels == &emulated_kernels() ? emulated_variants() : *cuda_variants();
}

namespace internal {
template <class Entry, class Table>
struct IsIn;
template <class Entry, class... All>
struct IsIn<Entry, std::tuple<All...>> {
  static constexpr bool kValue = (std::is_same_v<Entry, All> || ...);
};
}  // namespace internal

/// The variant for these arguments, or null.
template <class Args>
const DeviceVariant<Args>* find_variant(const DeviceVariants& variants) {
  if constexpr (internal::IsIn<DeviceVariant<Args>, DeviceVariants>::kValue) {
    return &std::get<DeviceVariant<Args>>(variants);
  } else {
    return nullptr;
  }
}

}  // namespace gneiss::kernels
