// Buffers whose elements are the pages of a mapped file: whether they still are, and what becomes of them.
//
// Such a buffer is made by Buffer::within. Writing to it changes pages of the process and never the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/buffer.h"
#include "base/file.h"
#include "base/pages.h"

namespace gneiss {

/// Are all of these pages still those of the file that is mapped there? Pages that someone wrote to are the process's
/// own. False if the system does not say.
bool pages_are_the_files(const void* data, std::size_t bytes);

/// How the keeper of a buffer in one scratch file (base/file.h) knows that: it has no name, and whoever wants to read
/// it by position finds it here.
struct ScratchPages {
  std::shared_ptr<const MappedFile> pages;
  std::shared_ptr<const OpenFile> file;
  std::uint64_t offset = 0;  ///< of the first byte that is mapped
  void operator()(const void*) const {}
};

/// A place in a file.
struct FilePlace {
  std::string path;
  std::uint64_t offset = 0;
};
/// The file that is mapped at `data`. None if that is no file, or no file with that name any more.
std::optional<FilePlace> file_behind(const void* data);

/// A copy of `bytes` bytes as allocate_aligned makes it, by `threads` threads. Pages that were copied are given back on
/// the way, so that both are never there at once; what `data` held is lost.
void* move_out(void* data, std::size_t bytes, int threads);

/// Does the buffer share memory of a file, and has nobody written to it? Its pages may then be given back; reading
/// brings them again.
template <class T>
bool as_in_file(const Buffer<T>& buffer) {
  return buffer.keeper() != nullptr && buffer.data() != nullptr &&
         pages_are_the_files(buffer.data(), buffer.size_bytes());
}

/// Are these pages of a file, and many? They are then worth giving back until they are read again.
template <class T>
bool can_rest(const Buffer<T>& buffer) {
  constexpr std::size_t kMany = std::size_t{16} << 20;
  return buffer.size_bytes() >= kMany && as_in_file(buffer);
}

/// Gives the pages of a file back until they are read again, if they are many.
template <class T>
void rest(Buffer<T>* buffer) {
  if (can_rest(*buffer)) give_back_tail(buffer->data(), 0, buffer->size_bytes());
}

/// Keeps pages of a file from piling up where blocks of it are read here and there: with huge pages a block brings
/// megabytes.
template <class T>
class RestsOnTheWay {
 public:
  explicit RestsOnTheWay(const Buffer<T>& buffer) : buffer_(buffer), can_rest_(can_rest(buffer)) {}
  /// After each block.
  void step() {
    constexpr int kBlocks = 8;
    if (can_rest_ && ++blocks_ % kBlocks == 0) give_back_tail(const_cast<T*>(buffer_.data()), 0, buffer_.size_bytes());
  }

 private:
  const Buffer<T>& buffer_;
  bool can_rest_;
  int blocks_ = 0;
};

/// Elements that lie in someone else's memory get memory of their own, on huge pages if they are many.
template <class T>
void settle(Buffer<T>* buffer, int threads) {
  if (buffer->keeper() == nullptr || buffer->data() == nullptr) return;
  auto* data = static_cast<T*>(move_out(buffer->data(), buffer->size_bytes(), threads));
  *buffer = Buffer<T>::owning(data, buffer->size());
}

/// Takes over the memory of `other`, whose first bytes are read as `size` elements; what lies behind goes back to the
/// system.
template <class T, class U>
Buffer<T> in_place_of(Buffer<U>&& other, std::size_t size) {
  Buffer<U> taken = std::move(other);
  give_back_tail(taken.data(), size * sizeof(T), taken.size_bytes());
  if (taken.keeper() != nullptr) {
    return Buffer<T>::within(taken.keeper(), reinterpret_cast<T*>(taken.data()), size);
  }
  return Buffer<T>::owning(reinterpret_cast<T*>(taken.release()), size);
}

}  // namespace gneiss
