// Large allocations are advised to use huge pages. Pages are given back with madvise, whole ones only.
#include "base/buffer.h"

#include <sys/mman.h>

#include <cstdlib>

#include "base/error.h"
#include "base/pages.h"

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

}  // namespace gneiss
