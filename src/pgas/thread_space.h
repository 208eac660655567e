// Devices that are threads of one process, each with an arena of its own.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "pgas/space.h"

namespace gneiss::pgas {

/// How the devices meet: shows `mine` to all, waits for all, and fills `all`, one entry a device, with what they show.
/// Throws if a device is lost.
using Meet = std::function<void(const SharedRows& mine, std::span<SharedRows> all)>;

/// The space of one of several devices in this process. A thread of the space's own copies the rows, at the rate of the
/// link. Errors: kInternal if no thread can be started.
std::unique_ptr<Space> thread_space(int device, int devices, Meet meet, const Link& link = {});

}  // namespace gneiss::pgas
