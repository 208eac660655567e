// Parallel loops whose results do not depend on the number of threads.
//
// Work is cut into chunks by a rule that looks at the data and never at the thread count; a reduction keeps one partial
// result per chunk and adds them in chunk order.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

namespace gneiss {

/// How many chunks of `grain` cover `size`.
inline std::int64_t num_chunks(std::int64_t size, std::int64_t grain) { return (size + grain - 1) / grain; }

/// Calls body(begin, end) for every chunk of `grain` consecutive indices in [0, size), on up to `threads` threads.
/// The body must not throw.
template <class Body>
void parallel_chunks(int threads, std::int64_t size, std::int64_t grain, const Body& body) {
  const std::int64_t chunks = num_chunks(size, grain);
  if (chunks <= 1 || threads <= 1) {
    for (std::int64_t c = 0; c < chunks; ++c) body(c * grain, std::min(size, (c + 1) * grain));
    return;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::int64_t c = 0; c < chunks; ++c) body(c * grain, std::min(size, (c + 1) * grain));
}

/// The same for single tasks: body(task, thread), thread < threads. No two tasks run on one thread at the same time.
template <class Body>
void parallel_tasks(int threads, std::int64_t tasks, const Body& body) {
  if (tasks <= 1 || threads <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::int64_t task = 0; task < tasks; ++task) body(task, omp_get_thread_num());
}

/// Does holds(begin, end) for every chunk? Not all are looked at if one does not.
template <class Test>
bool all_chunks(int threads, std::int64_t size, std::int64_t grain, const Test& holds) {
  std::atomic<bool> all = true;
  parallel_chunks(threads, size, grain, [&](std::int64_t begin, std::int64_t end) {
    if (all.load(std::memory_order_relaxed) && !holds(begin, end)) all.store(false, std::memory_order_relaxed);
  });
  return all;
}

/// Number of processors this process may run on (affinity and container limits honoured).
int available_threads();

}  // namespace gneiss
