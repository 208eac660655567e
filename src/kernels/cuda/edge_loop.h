// What loops over edges on a device are written in (synth/loops.h): the functions of edge_math.h, and kernels around
// them whose threads share rows or tasks.
//
// Three compilers take such a text: NVRTC while a training runs, nvcc for a written program, and the host's for the
// emulation, which gives each thread its first item and the step to the next. A loop has neither barriers nor shared
// memory. Rows are independent, so that it does not matter which thread does them; sums over all edges are cut into
// tasks by the data alone, each task has a part of its own, and parts are added in order. Products and sums stay apart
// (-fmad=false, -ffp-contract=off), so that a card has the emulation's bits.
#pragma once

#include <cstdint>

#include "kernels/cuda/log.h"

// nvcc takes the functions of edge_math.h for cards as well.
#ifdef __CUDACC__
#define GNEISS_EDGE_INLINE inline __host__ __device__ __attribute__((always_inline))
#endif
#include "kernels/edge_math.h"

/// What only a device runs.
#ifdef __CUDACC__
#define GNEISS_EDGE_ITEMS inline __device__
#else
#define GNEISS_EDGE_ITEMS inline
#endif

namespace gneiss::kernels {

/// What the kernel of a loop is launched with, before the places of its matrices.
struct EdgeLoopLaunch {
  EdgeLoopArgs args;                   ///< `reads`, `writes` and `key` are set by the kernel
  const std::uint64_t* key = nullptr;  ///< of dropout, in the device's memory
  std::int64_t rows = 0;
  std::int64_t tasks = 0;      ///< of sums over all edges
  std::int64_t part_size = 0;  ///< elements of a task's part of these sums; 0: there are none, and a task is a row
  float* parts = nullptr;      ///< [tasks, part_size]
};

/// That and the places of its matrices: those that it reads, then those that it writes. The last one is nothing's,
/// since there are no arrays of none.
template <int kMatrices>
struct EdgeLoopLaunchOf {
  EdgeLoopLaunch head;
  void* matrices[kMatrices + 1];
};

/// What the kernel is launched with that adds the parts of tasks up: elements `begin` to `begin + size` of each part.
struct EdgeTotalsLaunch {
  const float* parts = nullptr;
  std::int64_t tasks = 0;
  std::int64_t part_size = 0;
  std::int64_t begin = 0;
  std::int64_t size = 0;
  float* totals = nullptr;
};

namespace edge {

GNEISS_EDGE_INLINE float log_on_device(float x) { return static_cast<float>(log_of(static_cast<double>(x))); }

/// The first row of a task: tasks are about equal in edges and rows, by the cost that cut_rows goes by.
GNEISS_EDGE_ITEMS std::int64_t first_row(const EdgeLoopLaunch& launch, std::int64_t task) {
  constexpr std::int64_t kRowCost = 4;
  if (task >= launch.tasks) return launch.rows;
  const std::int64_t all = launch.args.offsets[launch.rows] + kRowCost * launch.rows;
  const std::int64_t wanted = all / launch.tasks * task;
  std::int64_t low = 0;
  std::int64_t high = launch.rows;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (launch.args.offsets[middle] + kRowCost * middle < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// y += x W^T: the same sums as multiply on a transposed copy, W [kCols, kInner].
template <int kInner, int kCols>
GNEISS_EDGE_INLINE void multiply_transposed(const float* x, const float* w, float* y) {
  for (int j = 0; j < kCols; ++j) {
    float even = 0;
    float odd = 0;
    for (int i = 0; i + 1 < kInner; i += 2) {
      even += x[i] * w[j * kInner + i];
      odd += x[i + 1] * w[j * kInner + i + 1];
    }
    if constexpr (kInner % 2 == 1) even += x[kInner - 1] * w[j * kInner + kInner - 1];
    y[j] += even + odd;
  }
}

/// total += x^T y, [kRows, kCols]. A thread has no room to collect edges in.
template <int kRows, int kCols>
GNEISS_EDGE_INLINE void add_outer_product(float* total, const float* x, const float* y) {
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kCols; ++j) total[i * kCols + j] += x[i] * y[j];
  }
}

/// The items of one thread, from `first` on. `kLoop` does some rows.
template <EdgeLoopFunction kLoop, int kReads, int kMatrices>
GNEISS_EDGE_ITEMS void run_items(const EdgeLoopLaunchOf<kMatrices>& launch, std::int64_t first, std::int64_t step) {
  EdgeLoopArgs args = launch.head.args;
  args.reads = launch.matrices;
  args.writes = launch.matrices + kReads;
  args.key = *launch.head.key;
  const std::int64_t size = launch.head.part_size;
  const std::int64_t items = size > 0 ? launch.head.tasks : launch.head.rows;
  for (std::int64_t item = first; item < items; item += step) {
    float* const part = launch.head.parts + item * size;
    for (std::int64_t i = 0; i < size; ++i) part[i] = 0;
    kLoop(args, size > 0 ? first_row(launch.head, item) : item, size > 0 ? first_row(launch.head, item + 1) : item + 1,
          part);
  }
}

/// Totals of one thread: sums over the tasks in their order.
GNEISS_EDGE_ITEMS void add_parts(const EdgeTotalsLaunch& launch, std::int64_t first, std::int64_t step) {
  for (std::int64_t i = first; i < launch.size; i += step) {
    double sum = 0;
    for (std::int64_t task = 0; task < launch.tasks; ++task)
      sum += static_cast<double>(launch.parts[task * launch.part_size + launch.begin + i]);
    launch.totals[i] = static_cast<float>(sum);
  }
}

}  // namespace edge
}  // namespace gneiss::kernels

// GNEISS_EDGE_ROWS stands before a loop over the edges of some rows, GNEISS_EDGE_KERNEL makes a kernel of it, and
// GNEISS_EDGE_TOTALS the kernel that adds parts up.
#if defined(__CUDACC_RTC__)
#define GNEISS_EDGE_ROWS static __device__
#define GNEISS_EDGE_FIRST static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x
#define GNEISS_EDGE_STEP static_cast<std::int64_t>(gridDim.x) * blockDim.x
#define GNEISS_EDGE_KERNEL(name, reads, writes)                                                        \
  extern "C" __global__ void name(                                                                     \
      const __grid_constant__ gneiss::kernels::EdgeLoopLaunchOf<(reads) + (writes)> launch) {          \
    gneiss::kernels::edge::run_items<name##_rows, reads>(launch, GNEISS_EDGE_FIRST, GNEISS_EDGE_STEP); \
  }
#define GNEISS_EDGE_TOTALS(name)                                                                      \
  extern "C" __global__ void name(const __grid_constant__ gneiss::kernels::EdgeTotalsLaunch launch) { \
    gneiss::kernels::edge::add_parts(launch, GNEISS_EDGE_FIRST, GNEISS_EDGE_STEP);                    \
  }
#elif defined(__CUDACC__)
#define GNEISS_EDGE_ROWS static __device__
#define GNEISS_EDGE_FIRST static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x
#define GNEISS_EDGE_STEP static_cast<std::int64_t>(gridDim.x) * blockDim.x
#define GNEISS_EDGE_START(name)                                                                                  \
  extern "C" const char* name##_on_card(void* stream, unsigned blocks, unsigned threads, const void* launch) {   \
    void* arguments[] = {const_cast<void*>(launch)};                                                             \
    const cudaError_t status = cudaLaunchKernel(reinterpret_cast<const void*>(&name##_kernel), dim3(blocks),     \
                                                dim3(threads), arguments, 0, static_cast<cudaStream_t>(stream)); \
    return status == cudaSuccess ? nullptr : cudaGetErrorString(status);                                         \
  }
#define GNEISS_EDGE_KERNEL(name, reads, writes)                                                        \
  static __global__ void name##_kernel(                                                                \
      const __grid_constant__ gneiss::kernels::EdgeLoopLaunchOf<(reads) + (writes)> launch) {          \
    gneiss::kernels::edge::run_items<name##_rows, reads>(launch, GNEISS_EDGE_FIRST, GNEISS_EDGE_STEP); \
  }                                                                                                    \
  GNEISS_EDGE_START(name)
#define GNEISS_EDGE_TOTALS(name)                                                                           \
  static __global__ void name##_kernel(const __grid_constant__ gneiss::kernels::EdgeTotalsLaunch launch) { \
    gneiss::kernels::edge::add_parts(launch, GNEISS_EDGE_FIRST, GNEISS_EDGE_STEP);                         \
  }                                                                                                        \
  GNEISS_EDGE_START(name)
#else
#define GNEISS_EDGE_ROWS static
#define GNEISS_EDGE_KERNEL(name, reads, writes)                                                           \
  extern "C" void name(const void* launch, std::int64_t first, std::int64_t step) {                       \
    gneiss::kernels::edge::run_items<name##_rows, reads>(                                                 \
        *static_cast<const gneiss::kernels::EdgeLoopLaunchOf<(reads) + (writes)>*>(launch), first, step); \
  }
#define GNEISS_EDGE_TOTALS(name)                                                                                   \
  extern "C" void name(const void* launch, std::int64_t first, std::int64_t step) {                                \
    gneiss::kernels::edge::add_parts(*static_cast<const gneiss::kernels::EdgeTotalsLaunch*>(launch), first, step); \
  }
#endif
