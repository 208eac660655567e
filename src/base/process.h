// What this process uses: memory.
#pragma once

#include <cstdint>

namespace gneiss {

/// Highest resident set so far, bytes (VmHWM).
std::int64_t peak_rss_bytes();
/// Resident set now, bytes (VmRSS).
std::int64_t current_rss_bytes();
/// Memory the process may use: the smaller of physical memory and the control-group limit, bytes.
std::int64_t memory_limit_bytes();

}  // namespace gneiss
