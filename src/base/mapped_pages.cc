// A fixed table, because a signal handler may neither lock nor allocate: an entry is published by its address, which is
// written last and cleared first.
#include "base/mapped_pages.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>

#include "base/error.h"

namespace gneiss {
namespace {

constexpr std::size_t kEntries = 256;
constexpr std::size_t kPathBytes = 1024;

struct Entry {
  std::atomic<std::uintptr_t> begin = 0;  ///< 0: free
  std::size_t bytes = 0;
  std::array<char, kPathBytes> path{};
};

std::array<Entry, kEntries> entries;
std::mutex entries_mutex;  // of those who write

void say(std::string_view text) noexcept {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

[[noreturn]] void end_with_name(const Entry& entry) noexcept {
  struct stat status {};
  const bool is_short =
      stat(entry.path.data(), &status) == 0 && status.st_size < static_cast<off_t>(entry.bytes);  // may be called here
  say("error: ");
  say(is_short ? "a file was cut short while it was in use" : "a page of a file cannot be read");
  say("\n  where: ");
  say(entry.path.data());
  say(is_short ? "\n  hint: bring the whole file back, and leave it alone while it is read\n"
               : "\n  hint: the disk or the connection to it may be failing; copy the data elsewhere\n");
  _exit(exit_code(is_short ? ErrorCode::kBadData : ErrorCode::kDisk));
}

void handle(int number, siginfo_t* info, void*) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Entry& entry : entries) {
    const std::uintptr_t begin = entry.begin.load(std::memory_order_acquire);
    if (begin != 0 && at >= begin && at - begin < entry.bytes) end_with_name(entry);
  }
  signal(number, SIG_DFL);  // the access that failed is made again, and ends the process
}

}  // namespace

void note_mapping(const void* data, std::size_t bytes, const std::string& path) noexcept {
  if (path.size() >= kPathBytes) return;
  const std::lock_guard lock(entries_mutex);
  for (Entry& entry : entries) {
    if (entry.begin != 0) continue;
    entry.bytes = bytes;
    std::memcpy(entry.path.data(), path.c_str(), path.size() + 1);
    entry.begin.store(reinterpret_cast<std::uintptr_t>(data), std::memory_order_release);
    return;
  }
}

void forget_mapping(const void* data) noexcept {
  const std::lock_guard lock(entries_mutex);
  for (Entry& entry : entries) {
    if (entry.begin == reinterpret_cast<std::uintptr_t>(data)) entry.begin = 0;
  }
}

void name_unreadable_files() {
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace gneiss
