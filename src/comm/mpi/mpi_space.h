// Devices that are processes which MPI joins: each reads rows in another's memory, on whatever machine that is.
#pragma once

#include <mpi.h>

#include <memory>

#include "pgas/meeting_space.h"

namespace gneiss::comm {

/// The space of this process among those of `comm`, two or more, which must outlive it. Gets and waits are calls of
/// MPI: of the thread that started MPI alone. A wait ends with kPeerLost where rows have not come within time_limit().
/// All ranks call it, and let it go at the same time. Errors: kPeerLost
std::unique_ptr<pgas::Space> mpi_space(MPI_Comm comm, pgas::Meet meet);

}  // namespace gneiss::comm
