// What this process uses, and other processes that it runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gneiss {

/// Highest resident set so far, bytes (VmHWM).
std::int64_t peak_rss_bytes();
/// Resident set now, bytes (VmRSS).
std::int64_t current_rss_bytes();
/// Memory the process may use: the smaller of physical memory and the control-group limit, bytes.
std::int64_t memory_limit_bytes();
/// The third-level cache that a processor shares with its neighbours, bytes, by the system's files about one
/// processor's caches; 0 where nothing says. The C library's sysconf comes second: it counts the caches of all of an
/// AMD processor's parts, of which a core uses one.
std::int64_t shared_cache_bytes(const std::filesystem::path& caches = "/sys/devices/system/cpu/cpu0/cache");

/// Has the system forget which code ran so far; what runs on comes back from its files, so only that counts as
/// resident. Code that someone wrote to, as a debugger does, stays.
void give_back_code();

/// How a command ended.
struct Finished {
  bool started = false;    ///< false: there is no such program, or it may not be run
  bool timed_out = false;  ///< it ran too long and was stopped, with what it had started
  int code = 0;            ///< exit status; 128 + signal
  std::string output;      ///< of both streams, the first megabyte
};

/// Runs a program (looked up in PATH) in a folder and waits for it, at most `limit`. It reads nothing.
Finished run_command(const std::vector<std::string>& words, const std::filesystem::path& folder,
                     std::chrono::seconds limit);

}  // namespace gneiss
