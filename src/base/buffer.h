// An owner of plain numbers in one memory space.
//
// Move-only, aligned to 64 bytes, large ones on huge pages (a gather over 4 KiB pages loses up to 2x). Contents start
// undefined unless `zeros` is used; pages of a large buffer are touched first by the threads that will use them. A
// buffer may also share memory that someone else keeps, as that of a mapped file (base/file_pages.h).
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

/// Allocates at least `bytes` bytes aligned to 64, asking for huge pages from 4 MiB up. Throws kOutOfMemory.
void* allocate_aligned(std::size_t bytes);
void free_aligned(void* data, std::size_t bytes) noexcept;
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

  /// Takes over memory that allocate_aligned made.
  static Buffer owning(T* data, std::size_t size) {
    Buffer buffer;
    buffer.data_ = data;
    buffer.size_ = size;
    return buffer;
  }

  /// Gives up its memory, which must be its own: the caller frees it.
  T* release() {
    size_ = 0;
    return std::exchange(data_, nullptr);
  }

  /// Whose memory it is; null: its own.
  const std::shared_ptr<const void>& keeper() const { return keeper_; }

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
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> keeper_;  ///< whose memory it is; null: its own
};

}  // namespace gneiss
