// Results that are stored past the caches.
//
// A line that is stored to is read first, and lies in the cache then. Of a result that is larger than the cache nobody
// finds a line there who reads it afterwards; stored past the caches it is not read, and leaves them to what is
// gathered.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/matrix_view.h"
#include "base/process.h"

namespace gneiss::kernels::cpu {

/// Bytes of a result that is stored as usual. More than 64 MiB of a shared cache are hardly one process's own.
inline std::int64_t most_stored_in_cache() {
  static const std::int64_t bytes = std::clamp(shared_cache_bytes(), std::int64_t{16} << 20, std::int64_t{64} << 20);
  return bytes;
}

/// May whole vectors of the rows of y, from a column on, be stored past the caches, and should they? Then whole lines
/// are.
inline bool stores_past_caches(const MatrixView<float>& y, std::int64_t column) {
  constexpr std::int64_t kLine = 64;
  const bool whole_lines = y.stride * std::int64_t{sizeof(float)} % kLine == 0 &&
                           reinterpret_cast<std::uintptr_t>(y.data + column) % kLine == 0;
  return whole_lines && y.rows * y.stride * std::int64_t{sizeof(float)} > most_stored_in_cache();
}

}  // namespace gneiss::kernels::cpu
