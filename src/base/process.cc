#include "base/process.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace gneiss {
namespace {

/// The value of a `Name:  123 kB` line of /proc/self/status in bytes; 0 where the file has none.
std::int64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind(name, 0) == 0) return std::stoll(line.substr(name.size())) * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t peak_rss_bytes() { return status_bytes("VmHWM:"); }

std::int64_t current_rss_bytes() { return status_bytes("VmRSS:"); }

std::int64_t memory_limit_bytes() {
  const std::int64_t physical =
      static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE));
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::string text;
  if (file >> text && text != "max") return std::min(physical, static_cast<std::int64_t>(std::stoll(text)));
  return physical;
}

}  // namespace gneiss
