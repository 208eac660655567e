// The number of threads is the least of the processors that the process may run on and the quota of its control group.
#include "base/parallel.h"

#include <sched.h>

#include <fstream>
#include <string>

namespace gneiss {
namespace {

/// CPU quota of a version-2 control group in whole processors, or 0 when there is none.
int quota_threads() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::stod(quota) / period));
}

}  // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : omp_get_num_procs();
  if (const int quota = quota_threads(); quota > 0) count = std::min(count, quota);
  return std::max(1, count);
}

}  // namespace gneiss
