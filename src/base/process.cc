// Memory is read from /proc/self and from the control group, caches from /sys.
#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
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

std::int64_t shared_cache_bytes(const std::filesystem::path& caches) {
  for (int index = 0; index < 8; ++index) {
    const std::filesystem::path cache = caches / ("index" + std::to_string(index));
    int level = 0;
    std::int64_t size = 0;
    char unit = 'B';
    std::ifstream(cache / "level") >> level;
    if (level != 3 || !(std::ifstream(cache / "size") >> size >> unit) || size <= 0) continue;
    return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
  }
#ifdef _SC_LEVEL3_CACHE_SIZE
  return std::max<std::int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
#else
  return 0;
#endif
}

void give_back_code() {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;  // of code in a file; begin == end elsewhere
  while (std::getline(maps, line)) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    unsigned long inode = 0;
    unsigned long kib = 0;
    std::array<char, 5> allowed{};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %*x %*s %lu", &from, &to, allowed.data(), &inode) == 4) {
      begin = end = 0;
      if (std::string(allowed.data()) == "r-xp" && inode != 0) begin = from, end = to;
    } else if (std::sscanf(line.c_str(), "Anonymous: %lu kB", &kib) == 1 ||
               std::sscanf(line.c_str(), "Swap: %lu kB", &kib) == 1) {
      if (kib > 0) begin = end = 0;                              // those pages are not the file's
    } else if (line.rfind("VmFlags:", 0) == 0 && begin < end) {  // the last line of a mapping
      madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
  }
}

namespace {

/// Reads what comes until the other end is closed; false if that is not before `end`.
bool read_until(int descriptor, std::chrono::steady_clock::time_point end, std::string* output) {
  constexpr std::size_t kMostOutput = std::size_t{1} << 20;
  std::array<char, 4096> block;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd ready{descriptor, POLLIN, 0};
    const int count = poll(&ready, 1, static_cast<int>(std::min<long long>(left, 1000)));
    if (count < 0 && errno != EINTR) return true;
    if (count <= 0) continue;
    const ssize_t got = read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (output->size() < kMostOutput) output->append(block.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Finished run_command(const std::vector<std::string>& words, const std::filesystem::path& folder,
                     std::chrono::seconds limit) {
  Finished finished;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return finished;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // so that all that it starts can be stopped
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (error == 0) {
    finished.started = true;
    finished.timed_out = !read_until(ends[0], std::chrono::steady_clock::now() + limit, &finished.output);
    if (finished.timed_out) kill(-child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  close(ends[0]);
  return finished;
}

}  // namespace gneiss
