// Launchers number the processes in variables of their own; the first that is there counts.
#include "comm/launch.h"

#include <algorithm>
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

/// SLURM's list of processes on each machine, as in 4(x2),3: those on machine `node`; 0: it does not say.
int in_list(const char* list, int node) {
  if (list == nullptr) return 0;
  for (const char* at = list; *at != '\0';) {
    char* end = nullptr;
    const long tasks = std::strtol(at, &end, 10);
    if (end == at || tasks < 1 || tasks >= 1 << 20) return 0;
    long times = 1;
    if (end[0] == '(' && end[1] == 'x') {
      times = std::strtol(end + 2, &end, 10);
      if (times < 1 || *end++ != ')') return 0;
    }
    if (node < times) return static_cast<int>(tasks);
    node -= static_cast<int>(times);
    if (*end != ',') return 0;
    at = end + 1;
  }
  return 0;
}

}  // namespace

Launch find_launch() {
  struct Launcher {
    const char* by;
    const char* ranks;
    const char* rank;
    const char* here;
  };
  constexpr Launcher kLaunchers[] = {
      {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"mpirun", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"},
      {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", nullptr}};
  for (const Launcher& launcher : kLaunchers) {
    const int ranks = number_in(launcher.ranks, 0);
    if (ranks == 0) continue;
    const int here = launcher.here != nullptr
                         ? number_in(launcher.here, 1)
                         : in_list(std::getenv("SLURM_STEP_TASKS_PER_NODE"), number_in("SLURM_NODEID", 0));
    return {number_in(launcher.rank, 0), ranks, std::clamp(here, 1, ranks), launcher.by};
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
