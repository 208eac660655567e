// Large allocations are advised to use huge pages. Pages are given back with madvise, whole ones only.
#include "base/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/parallel.h"

namespace gneiss {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugeFrom = std::size_t{4} << 20;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  const bool huge = bytes >= kHugeFrom;
  const std::size_t alignment = huge ? kHugePage : kAlignment;
  // Sizes beyond this cannot be rounded up without wrapping around; nothing that large exists.
  void* data = bytes > (std::size_t{1} << 62)
                   ? nullptr
                   : std::aligned_alloc(alignment, round_up(bytes, kAlignment > alignment ? kAlignment : alignment));
  if (data == nullptr) {
    throw Error(ErrorCode::kOutOfMemory, fmt::format("cannot allocate {} bytes", bytes), {},
                "`gneiss plan` shows what a run needs before it starts");
  }
  if (huge) madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

void free_aligned(void* data, std::size_t /*bytes*/) noexcept { std::free(data); }

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

void map_pages(void* data, std::size_t bytes, [[maybe_unused]] bool for_writing) noexcept {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(data) / page * page;
  const auto end = round_up(reinterpret_cast<std::uintptr_t>(data) + bytes, page);
  madvise(reinterpret_cast<void*>(begin), end - begin, for_writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#else
  static_cast<void>(data);
  static_cast<void>(bytes);
#endif
}

void give_back_tail(void* data, std::size_t kept, std::size_t bytes) noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = round_up(reinterpret_cast<std::uintptr_t>(data) + kept, page);
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace gneiss
