// CUDA's words for a compiler of the host: threads of a block as fibers that take turns, so that barriers and shuffles
// mean what they mean on a card.
//
// The order of blocks and threads is shuffled by a seed, so that a missing barrier shows. Shared memory starts as NaN
// and has guards around it. What a card would leave undefined is an error here that names the block: threads at
// different barriers, threads that wait for ever, a shuffle from a lane that is not there, a write beyond shared
// memory. A copy that does not block makes NaN of where it goes until it is waited for, so that a wait that is missing
// and a place that is used again too early show; two copies under way to one place, and a thread that ends with copies
// under way, are errors. What this cannot show: weak memory order between blocks, and speed (a switch takes about a
// microsecond).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __grid_constant__

namespace gneiss::kernels::emulated {

struct Index {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

// Of the thread whose turn it is.
extern constinit thread_local Index threadIdx;
extern constinit thread_local Index blockIdx;
extern constinit thread_local Index blockDim;
extern constinit thread_local Index gridDim;

/// Shuffles the order of blocks and threads of what this thread launches from now on.
void set_order(std::uint64_t seed);

/// For tests of tests: waits for copies to shared memory, of what this thread launches from now on, are for so many
/// groups less than they say.
void wait_short_by(std::size_t groups);

/// Runs `body` for every thread of every block. Errors: kInternal for what a card would leave undefined.
void run_grid(std::int64_t blocks, unsigned threads, std::size_t shared, const std::function<void()>& body);

/// Launches that are kept between begin() and end(), as a stream that captures keeps them, to be run again.
class Launches {
 public:
  /// From now on this thread's launches have to name this as their stream: one that does not would not be part of a
  /// card's graph, and is an error.
  void begin();
  void end();
  void keep(std::function<void()> launch) { kept_.push_back(std::move(launch)); }
  void run() const;

 private:
  std::vector<std::function<void()>> kept_;
};

/// What keeps the launches of a stream; null: they run at once. Errors: kInternal if another stream is recorded.
Launches* recording_of(void* stream);

unsigned char* shared_bytes();

using Where = std::source_location;

void wait_for_block(const Where& where);
void wait_for_warp(unsigned mask, const Where& where);

/// Gives `bytes` bytes to the warp and takes those of another of its lanes.
void exchange(void* value, std::size_t bytes, unsigned from_lane, unsigned mask, const Where& where);

inline void __syncthreads(const Where& where = Where::current()) { wait_for_block(where); }
inline void __syncwarp(unsigned mask = ~0U, const Where& where = Where::current()) { wait_for_warp(mask, where); }

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, const Where& where = Where::current()) {
  exchange(&value, sizeof(T), static_cast<unsigned>(lane), mask, where);
  return value;
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, const Where& where = Where::current()) {
  exchange(&value, sizeof(T), (threadIdx.x % 32) ^ static_cast<unsigned>(bits), mask, where);
  return value;
}

/// Threads take turns: an addition is whole.
template <class T>
T atomicAdd(T* to, T value) {
  const T before = *to;
  *to = before + value;
  return before;
}

/// What a thread wrote before, others see: blocks run on one thread of the host.
inline void __threadfence() {}

// Copies to shared memory that do not block, as <cuda_pipeline.h> has them: a commit closes a group, and a wait is for
// all groups but the last `prior` ones of this thread.

void begin_copy(void* to, const void* from, std::size_t bytes, const Where& where);
void close_group();
void wait_for_groups(std::size_t prior, const Where& where);

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes,
                                    const Where& where = Where::current()) {
  begin_copy(to, from, bytes, where);
}
inline void __pipeline_commit() { close_group(); }
inline void __pipeline_wait_prior(std::size_t prior, const Where& where = Where::current()) {
  wait_for_groups(prior, where);
}

}  // namespace gneiss::kernels::emulated
