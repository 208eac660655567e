// Ranks that are processes of one machine, forked from this one, which talk through memory that they share.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace gneiss::comm {

inline constexpr int kMostProcesses = 64;

/// Forks `count` - 1 processes (1 to kMostProcesses in all), each a rank that goes on from here as this one does: the
/// caller is rank 0 and returns with `first` 0, the others return from the same call with `first` above 0. They write
/// nothing to stdout and stderr. A process that ends, in whatever way, ends what the others wait for with kPeerLost at
/// once. Rank 0 waits for the others where its ranks end, and stops what has not ended by then.
/// Errors    kUnsupported if this process runs several threads, which a fork would not bring along; kOutOfMemory where
///           the system gives no memory or no process; kDisk without /dev/null
std::unique_ptr<Ranks> fork_ranks(int count);

}  // namespace gneiss::comm
