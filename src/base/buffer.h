// An owner of plain numbers in one memory space.
//
// Move-only, aligned to 64 bytes, large ones on huge pages (a gather over 4 KiB pages loses up to 2x). Contents start
// undefined unless `zeros` is used; pages of a large buffer are touched first by the threads that will use them. A
// buffer may also share the memory of a mapped file: writing to it changes its own pages and never the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "base/matrix_view.h"

namespace gneiss {

/// Bytes of a huge page of memory, or of a file that the system keeps there.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Allocates at least `bytes` bytes aligned to 64, asking for huge pages from 4 MiB up. Throws kOutOfMemory.
void* allocate_aligned(std::size_t bytes);
void free_aligned(void* data, std::size_t bytes) noexcept;
/// Gives whole pages behind the first `kept` of `bytes` bytes back to the system; what they held is lost. They may be
/// used again.
void give_back_tail(void* data, std::size_t kept, std::size_t bytes) noexcept;

/// Maps pages that are about to be read or written, all at once: to be written in a file that costs a fifth of a fault
/// for each, and to be read it lets the kernels' prefetches through, which a page that is not mapped swallows. Where
/// the system cannot (Linux before 5.14), they are mapped one by one as they are touched.
void map_pages(void* data, std::size_t bytes, bool for_writing) noexcept;

/// Are all of these pages still those of the file that is mapped there? Pages that someone wrote to are the process's
/// own. False if the system does not say.
bool pages_are_the_files(const void* data, std::size_t bytes);

/// A copy of `bytes` bytes as allocate_aligned makes it, by `threads` threads. Pages that were copied are given back on
/// the way, so that both are never there at once; what `data` held is lost.
void* move_out(void* data, std::size_t bytes, int threads);

template <class T, Space S = Space::kHost>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(S == Space::kHost, "device buffers are made by the device backend");

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size)
      : data_(size == 0 ? nullptr : static_cast<T*>(allocate_aligned(size * sizeof(T)))), size_(size) {}
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        keeper_(std::exchange(other.keeper_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(keeper_, other.keeper_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (data_ != nullptr && keeper_ == nullptr) free_aligned(data_, size_ * sizeof(T));
  }

  static Buffer zeros(std::size_t size) {
    Buffer buffer(size);
    if (size > 0) std::memset(static_cast<void*>(buffer.data_), 0, size * sizeof(T));
    return buffer;
  }
  static Buffer copy_of(std::span<const T> source) {
    Buffer buffer(source.size());
    if (!source.empty()) std::memcpy(static_cast<void*>(buffer.data_), source.data(), source.size_bytes());
    return buffer;
  }

  /// Elements that lie in memory of `keeper`, writable and aligned to 64 bytes; the buffer keeps it alive and frees
  /// nothing itself.
  static Buffer within(std::shared_ptr<const void> keeper, T* data, std::size_t size) {
    Buffer buffer;
    buffer.data_ = data;
    buffer.size_ = size;
    buffer.keeper_ = std::move(keeper);
    return buffer;
  }

  /// Takes over the memory of `other`, whose first bytes are read as `size` elements; what lies behind goes back to the
  /// system.
  template <class U>
  static Buffer in_place_of(Buffer<U, S>&& other, std::size_t size) {
    Buffer buffer;
    give_back_tail(other.data_, size * sizeof(T), other.size_ * sizeof(U));
    buffer.data_ = reinterpret_cast<T*>(std::exchange(other.data_, nullptr));
    buffer.keeper_ = std::exchange(other.keeper_, nullptr);
    other.size_ = 0;
    buffer.size_ = size;
    return buffer;
  }

  /// Elements that lie in someone else's memory get memory of their own, on huge pages if they are many.
  void settle(int threads) {
    if (keeper_ == nullptr || data_ == nullptr) return;
    data_ = static_cast<T*>(move_out(data_, size_ * sizeof(T), threads));
    keeper_ = nullptr;
  }

  /// Does it share memory of a file, and has nobody written to it? Its pages may then be given back; reading brings
  /// them again.
  bool as_in_file() const { return keeper_ != nullptr && data_ != nullptr && pages_are_the_files(data_, size_bytes()); }

  /// Gives the pages of a file back until they are read again, if they are many.
  void rest() {
    constexpr std::size_t kMany = std::size_t{16} << 20;
    if (size_bytes() >= kMany && as_in_file()) give_back_tail(data_, 0, size_bytes());
  }

  /// Forgets the elements from `size` on; their memory stays with the buffer.
  void shrink(std::size_t size) { size_ = size < size_ ? size : size_; }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }
  operator std::span<const T>() const { return span(); }  // NOLINT(google-explicit-constructor)

 private:
  template <class U, Space R>
  friend class Buffer;

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> keeper_;  ///< whose memory it is; null: its own
};

}  // namespace gneiss
