// Pages are touched by one madvise where the kernel knows how (Linux 5.14); elsewhere they come when first used.
#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace gneiss {
namespace {

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

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
