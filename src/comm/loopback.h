// Ranks that are threads of one process.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace gneiss::comm {

/// `count` ranks, at least 1, each on a thread of its own while `run` lasts. They copy straight from each other's
/// memory.
std::unique_ptr<Ranks> loopback(int count);

}  // namespace gneiss::comm
