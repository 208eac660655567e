// Devices that are threads of one process, each with an arena of its own.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "pgas/space.h"

namespace gneiss::pgas {

/// The space of the communicator's rank, one device a rank. A thread of the space's own copies the rows, at the rate of
/// the link. The communicator must outlive the space and have its ranks in this process (comm::loopback).
/// All ranks call it. Errors: kInternal if no thread can be started.
std::unique_ptr<Space> thread_space(comm::Communicator& communicator, const Link& link = {});

}  // namespace gneiss::pgas
