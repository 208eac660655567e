// Memory at the same addresses in all processes that are forked after it was made: what a device has there, every other
// device reads by the address that its owner shows. So the space of threads is one of processes too.
//
// Addresses are reserved before the fork and have no name, so that nothing can be left behind; pages are taken when
// they are first written, and given back with the buffer. Each process takes memory of its own device alone. Source:
// OpenSHMEM's symmetric heap.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "base/buffer.h"

namespace gneiss::pgas {

class SymmetricHeap : public std::enable_shared_from_this<SymmetricHeap> {
 public:
  /// Reserves addresses for `bytes_each` bytes of each device. Errors: kOutOfMemory
  static std::shared_ptr<SymmetricHeap> make(int devices, std::size_t bytes_each);
  SymmetricHeap(const SymmetricHeap&) = delete;
  SymmetricHeap& operator=(const SymmetricHeap&) = delete;
  ~SymmetricHeap();

  int devices() const { return devices_; }
  /// Memory of a device, zeros, aligned to a page; the buffer keeps the heap alive. Errors: kOutOfMemory, with sizes
  Buffer<std::byte> allocate(int device, std::size_t bytes);

 private:
  SymmetricHeap(int devices, std::size_t bytes_each);
  void give_back(std::size_t first) noexcept;

  int devices_;
  std::size_t bytes_each_;
  std::byte* data_ = nullptr;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> taken_;  ///< first byte -> bytes, of this process's buffers
};

}  // namespace gneiss::pgas
