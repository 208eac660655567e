// Ranks that are processes and talk by MPI. Built where an MPI is found; elsewhere not_built.cc stands in its place.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace gneiss::comm {

bool mpi_is_built();

/// This process as one of those that mpirun or srun started. Starts MPI, and ends it when it goes: once a process.
/// Where it goes because of an error, MPI is left open, and all processes are ended when this one exits.
/// Errors: kUnsupported if MPI is not built in; kPeerLost if the processes do not come together.
std::unique_ptr<Ranks> mpi_ranks();

}  // namespace gneiss::comm
