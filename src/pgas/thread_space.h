// Devices that are threads of one process, each with an arena of its own.
#pragma once

#include <memory>

#include "pgas/meeting_space.h"

namespace gneiss::pgas {

/// The space of one of several devices in this process. A thread of the space's own copies the rows, at the rate of the
/// link. Errors: kInternal if no thread can be started.
std::unique_ptr<Space> thread_space(int device, int devices, Meet meet, const Link& link = {});

}  // namespace gneiss::pgas
