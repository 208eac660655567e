// Asking for memory ahead of its use.
#pragma once

namespace gneiss {

/// Has the cache line at `address` fetched. __builtin_prefetch alone does not do in a function of nothing else: GCC takes that for a
/// function without effects and leaves out its calls.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

}  // namespace gneiss
