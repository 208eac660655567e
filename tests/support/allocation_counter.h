// Counts what a test program asks the system for: malloc and its kin, behind `new`, Buffer and every library, and mmap.
//
// Linking this takes the C library's allocators over. Sanitizers bring allocators of their own, so nothing is counted
// under them.
#pragma once

namespace gneiss::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kAllocationsAreCounted = false;
#else
inline constexpr bool kAllocationsAreCounted = true;
#endif

/// Sets the count to zero and counts, on all threads.
void start_counting_allocations();
/// Stops and returns the count; a second call returns the same.
long stop_counting_allocations();

}  // namespace gneiss::testing
