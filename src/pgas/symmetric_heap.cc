// A shared mapping without a name, as communicators of processes have (comm/processes.cc). Buffers lie one behind the
// other, each in the first gap that has room.
#include "pgas/symmetric_heap.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace gneiss::pgas {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

std::shared_ptr<SymmetricHeap> SymmetricHeap::make(int devices, std::size_t bytes_each) {
  return std::shared_ptr<SymmetricHeap>(new SymmetricHeap(devices, whole_pages(bytes_each)));
}

SymmetricHeap::SymmetricHeap(int devices, std::size_t bytes_each) : devices_(devices), bytes_each_(bytes_each) {
  const std::size_t bytes = static_cast<std::size_t>(devices) * bytes_each;
  void* const got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  GNEISS_CHECK(got != MAP_FAILED, ErrorCode::kOutOfMemory,
               "{} devices that are processes cannot reserve {} bytes of addresses each: {}", devices, bytes_each,
               std::strerror(errno));
  data_ = static_cast<std::byte*>(got);
}

SymmetricHeap::~SymmetricHeap() { munmap(data_, static_cast<std::size_t>(devices_) * bytes_each_); }

Buffer<std::byte> SymmetricHeap::allocate(int device, std::size_t bytes) {
  GNEISS_ASSERT(device >= 0 && device < devices_, "there is no device {} of {}", device, devices_);
  if (bytes == 0) return {};
  const std::size_t begin = static_cast<std::size_t>(device) * bytes_each_;
  const std::size_t wanted = whole_pages(bytes);
  const std::lock_guard lock(mutex_);
  std::size_t first = begin;
  for (auto next = taken_.lower_bound(begin); next != taken_.end() && next->first < first + wanted; ++next)
    first = next->first + next->second;
  GNEISS_CHECK(first + wanted <= begin + bytes_each_, ErrorCode::kOutOfMemory,
               "device {} has no {} bytes left of its {} in memory that processes share", device, bytes, bytes_each_);
  taken_[first] = wanted;
  const std::shared_ptr<const void> keeper(data_ + first,
                                           [heap = shared_from_this(), first](const void*) { heap->give_back(first); });
  return Buffer<std::byte>::within(keeper, data_ + first, bytes);
}

void SymmetricHeap::give_back(std::size_t first) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(first);
  madvise(data_ + first, found->second, MADV_REMOVE);  // for all processes; what comes next reads zeros
  taken_.erase(found);
}

}  // namespace gneiss::pgas
