// What device kernels are written against: CUDA's own words under nvcc, the same words on fibers under a compiler of
// the host (emulation.h).
//
// A kernel is one text for both. Its rules: shared memory is dynamic, from shared_memory<T>(); kernels start through
// launch(), not <<<>>>; every thread of a block comes to every barrier; shuffles are by whole warps; sums are joined in
// an order that the data alone decide, without float atomics; a product and a sum are one operation only where fmaf is
// written. So its results are the same bits on every card and in the emulation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device_kernels.h"

#ifdef __CUDACC__
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#define GNEISS_DEVICE cuda
#else
#include "kernels/cuda/emulation.h"
#define GNEISS_DEVICE emulated
#endif

namespace gneiss::kernels {

/// How many blocks of how many threads run a kernel, and the shared memory of a block.
struct Launch {
  std::int64_t blocks = 1;
  unsigned threads = 256;
  std::size_t shared_bytes = 0;
};

namespace GNEISS_DEVICE {

#ifdef __CUDACC__
template <class... P, class... A>
void launch(const DeviceContext& context, void (*kernel)(P...), const Launch& shape, A... args) {
  if (shape.blocks == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks));
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = static_cast<cudaStream_t>(context.stream);
  constexpr std::size_t kGiven = std::size_t{48} << 10;  // a kernel has to ask for more
  cudaError_t status = cudaSuccess;
  if (shape.shared_bytes > kGiven)
    status =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
  if (status == cudaSuccess) status = cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...);
  if (status != cudaSuccess) throw_not_launched(cudaGetErrorString(status));
}

template <class T>
__device__ T* shared_memory() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return reinterpret_cast<T*>(bytes);
}
#else
template <class... P, class... A>
void launch(const DeviceContext& context, void (*kernel)(P...), const Launch& shape, A... args) {
  const auto run = [=] {
    const auto body = [&] { kernel(static_cast<P>(args)...); };
    run_grid(shape.blocks, shape.threads, shape.shared_bytes, std::cref(body));  // allocates nothing
  };
  if (Launches* recording = recording_of(context.stream)) {
    recording->keep(run);
  } else {
    run();
  }
}

template <class T>
T* shared_memory() {
  return reinterpret_cast<T*>(shared_bytes());
}
#endif

/// Threads that share `items` among them, each taking every item_step()-th. What they compute does not depend on how
/// many there are.
inline Launch launch_over(const DeviceContext& context, std::int64_t items) {
  constexpr unsigned kThreads = 256;
  return {std::min((items + kThreads - 1) / kThreads, context.most_blocks), kThreads, 0};
}
__device__ inline std::int64_t first_item() {
  return static_cast<std::int64_t>(blockIdx.x) * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}
__device__ inline std::int64_t item_step() {
  return static_cast<std::int64_t>(gridDim.x) * static_cast<std::int64_t>(blockDim.x);
}

/// Lanes that work on one row of `cols` columns: a power of two, at most a warp.
inline int lanes_for(std::int64_t cols) {
  int lanes = 1;
  while (lanes < 32 && lanes < cols) lanes *= 2;
  return lanes;
}

/// The row that entry k of a pattern belongs to: the last whose offset is not beyond k.
__device__ inline std::int64_t row_of(const EdgeId* offsets, std::int64_t rows, EdgeId k) {
  std::int64_t low = 0;
  std::int64_t high = rows;  // offsets[low] <= k < offsets[high]
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    if (offsets[middle] <= k) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Where an operand of an elementwise op has the element that meets (r, c) of a result `width` columns wide.
__device__ inline std::int64_t broadcast(const ConstMatrixView<float, Space::kDevice>& operand, std::int64_t width,
                                         std::int64_t r, std::int64_t c) {
  const std::int64_t row = operand.rows == 1 ? 0 : r;
  return row * operand.stride + (operand.cols == width ? c : c / (width / operand.cols));
}

}  // namespace GNEISS_DEVICE
}  // namespace gneiss::kernels
