// Which processes train together: found from what their launcher says in the environment.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"

namespace gneiss::comm {

/// This process among those that a launcher started together.
struct Launch {
  int rank = 0;
  int ranks = 1;   ///< 1: there is no launcher, or it started one process
  int here = 1;    ///< of them on this machine, as far as the launcher says
  std::string by;  ///< "mpirun", "srun"; empty without one
};
/// As mpirun (Open MPI, MPICH) and srun say it in the environment.
Launch find_launch();

/// The ranks of this process: the one that a launcher made of it, else `asked` threads; null for one rank alone.
/// Errors: kUsage if a launcher started another number than `asked` (1: nothing was asked for); kUnsupported if it
/// started several and this program was built without MPI.
std::unique_ptr<Ranks> make_ranks(int asked);

}  // namespace gneiss::comm
