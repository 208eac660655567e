// What stands in place of the MPI communicator where there is no MPI.
#include "base/error.h"
#include "comm/mpi/mpi_ranks.h"

namespace gneiss::comm {

bool mpi_is_built() { return false; }

std::unique_ptr<Ranks> mpi_ranks() {
  throw Error(ErrorCode::kUnsupported, "this gneiss was built without MPI", {},
              "install an MPI (Debian: libopenmpi-dev) and build with -DGNEISS_MPI=ON");
}

}  // namespace gneiss::comm
