// Launchers number the processes in variables of their own; the first that is there counts.
#include "comm/launch.h"

#include <cstdlib>

#include "base/error.h"
#include "comm/loopback.h"
#include "comm/mpi/mpi_ranks.h"

namespace gneiss::comm {
namespace {

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value < 1 << 20 ? static_cast<int>(value) : otherwise;
}

}  // namespace

Launch find_launch() {
  struct Launcher {
    const char* by;
    const char* ranks;
    const char* rank;
  };
  constexpr Launcher kLaunchers[] = {{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                     {"mpirun", "PMI_SIZE", "PMI_RANK"},
                                     {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
  for (const Launcher& launcher : kLaunchers) {
    const int ranks = number_in(launcher.ranks, 0);
    if (ranks > 0) return {number_in(launcher.rank, 0), ranks, launcher.by};
  }
  return {};
}

std::unique_ptr<Ranks> make_ranks(int asked) {
  const Launch launch = find_launch();
  if (launch.ranks == 1) return asked == 1 ? nullptr : loopback(asked);
  if (!mpi_is_built()) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} started {} processes, and this gneiss was built without MPI", launch.by, launch.ranks),
                {},
                "install an MPI (Debian: libopenmpi-dev) and build with -DGNEISS_MPI=ON, or use --ranks for threads of "
                "one process");
  }
  if (asked != 1 && asked != launch.ranks) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--ranks {} is asked for, {} started {} processes", asked, launch.by, launch.ranks),
                "--ranks", "leave --ranks out: the launcher says how many there are");
  }
  return mpi_ranks();
}

}  // namespace gneiss::comm
