// Pages of the process's memory: mapped before their use, given back after it.
#pragma once

#include <cstddef>

namespace gneiss {

/// Bytes of a huge page of memory, or of a file that the system keeps there.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Gives whole pages behind the first `kept` of `bytes` bytes back to the system; what they held is lost. They may be
/// used again.
void give_back_tail(void* data, std::size_t kept, std::size_t bytes) noexcept;

/// Maps pages that are about to be read or written, all at once: to be written in a file that costs a fifth of a fault
/// for each, and to be read it lets the kernels' prefetches through, which a page that is not mapped swallows. Where
/// the system cannot (Linux before 5.14), they are mapped one by one as they are touched.
void map_pages(void* data, std::size_t bytes, bool for_writing) noexcept;

}  // namespace gneiss
