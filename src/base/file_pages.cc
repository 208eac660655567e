// What the system maps where stands in /proc/self/smaps: each mapping with its file and how much of it the process has
// changed.
#include "base/file_pages.h"

#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "base/parallel.h"

namespace gneiss {

void* move_out(void* data, std::size_t bytes, int threads) {
  constexpr std::int64_t kPart = std::int64_t{16} << 20;  // whole huge pages
  void* out = allocate_aligned(bytes);
  parallel_chunks(threads, static_cast<std::int64_t>(bytes), kPart, [&](std::int64_t begin, std::int64_t end) {
    const auto length = static_cast<std::size_t>(end - begin);
    std::memcpy(static_cast<std::byte*>(out) + begin, static_cast<std::byte*>(data) + begin, length);
    give_back_tail(static_cast<std::byte*>(data) + begin, 0, length);
  });
  return out;
}

bool pages_are_the_files(const void* data, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t end = begin + bytes;
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  std::uintptr_t covered = begin;  // by mappings of files, maybe several in a row
  bool inside = false;
  while (std::getline(maps, line)) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    unsigned long inode = 0;
    unsigned long kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*4s %*x %*s %lu", &from, &to, &inode) == 3) {
      if (covered >= end) return true;
      inside = from < end && to > begin;
      if (!inside) continue;
      if (from > covered || inode == 0) return false;
      covered = to;
    } else if (inside && (std::sscanf(line.c_str(), "Anonymous: %lu kB", &kib) == 1 ||
                          std::sscanf(line.c_str(), "Swap: %lu kB", &kib) == 1)) {
      if (kib > 0) return false;
    }
  }
  return covered >= end;
}

std::optional<FilePlace> file_behind(const void* data) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    std::uint64_t offset = 0;
    std::uint64_t inode = 0;
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*4s %lx %*s %lu %n", &from, &to, &offset, &inode, &path_at) != 4) continue;
    if (at < from || at >= to) continue;
    const std::string path = line.substr(static_cast<std::size_t>(path_at));
    struct stat status {};
    const bool is_it = inode != 0 && stat(path.c_str(), &status) == 0 && status.st_ino == inode;
    if (!is_it) return {};
    return FilePlace{path, offset + (at - from)};
  }
  return {};
}

}  // namespace gneiss
