// Reads of a file by io_uring: many are handed to the system at once, and it serves them in any order.
//
// A ring belongs to a thread. It is there where this program was built with liburing and the system allows it; where
// not, ring_of_this_thread says why, and whoever wants to read does so by position. A read that does not come back
// whole is told so and no more: the caller reads it again by position, which names the fault. So what goes wrong ends
// in the same error either way.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>

namespace gneiss::data {

/// Bytes that follow each other in a file, to places in memory.
struct RingRead {
  std::int64_t at = 0;
  std::int64_t bytes = 0;        ///< of all parts
  std::span<const iovec> parts;  ///< kMostParts at most
  bool whole = false;            ///< result: all of it has come
  bool at_once = false;          ///< result: the system had it at hand
};

inline constexpr std::size_t kMostParts = 1024;  ///< that the system takes for one read

class Ring {
 public:
  virtual ~Ring() = default;
  /// Fills `reads` from the file. As many are under way at a time as the ring has room for. Returns when none is; no
  /// error: see RingRead::whole.
  virtual void read(int file, std::span<RingRead> reads) noexcept = 0;
};

/// The ring of the calling thread, made at the first call; null where there is none, for `ring_fault`.
Ring* ring_of_this_thread();

/// Why there is no ring; empty where there is one. Asks the system at the first call.
const std::string& ring_fault();

}  // namespace gneiss::data
