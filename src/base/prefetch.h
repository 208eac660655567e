// Asking for memory ahead of its use.
#pragma once

namespace gneiss {

/// Has the cache line at `address` fetched. __builtin_prefetch alone does not do in a function of nothing else: GCC
/// takes that for a function without effects and leaves out its calls.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

/// The same, into the second-level cache: more lines can be on their way there than into the first.
inline void prefetch_far(const void* address) {
  __builtin_prefetch(address, 0, 2);
  asm volatile("");
}

/// The same of a line that is going to be written, without what other processors have of it.
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0"
               :
               : "m"(*static_cast<const char*>(address)));  // the builtin means a read where the target is plain x86-64
#else
  __builtin_prefetch(address, 1);
  asm volatile("");
#endif
}

}  // namespace gneiss
