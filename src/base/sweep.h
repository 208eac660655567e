// Arrays that are read from the first element to the last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/file_pages.h"
#include "base/pages.h"

namespace gneiss {

/// A walk along an array. Of an array in a mapped file, pages that the walk has left behind are given back, some MiB
/// at a time; reading brings them again. Nothing happens to memory of the process's own.
template <class T>
class Sweep {
 public:
  explicit Sweep(std::span<const T> values)
      : values_(values),
        gives_back_(values.size_bytes() >= kMany && pages_are_the_files(values.data(), values.size_bytes())) {}
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  ~Sweep() { give_back_up_to(values_.size()); }

  /// Elements [begin, end). Where `begin` is before that of the last call, the walk begins again.
  std::span<const T> at(std::int64_t begin, std::int64_t end) {
    const auto first = static_cast<std::size_t>(begin);
    if (first < at_) {
      give_back_up_to(values_.size());
      behind_ = 0;
    }
    at_ = first;
    if ((first - behind_) * sizeof(T) >= kAtOnce) give_back_up_to(first);
    return values_.subspan(first, static_cast<std::size_t>(end - begin));
  }

 private:
  static constexpr std::size_t kMany = std::size_t{4} << 20;
  static constexpr std::size_t kAtOnce = std::size_t{2} << 20;

  void give_back_up_to(std::size_t end) {
    if (gives_back_) give_back_tail(const_cast<T*>(values_.data()), behind_ * sizeof(T), end * sizeof(T));
    behind_ = end;
  }

  std::span<const T> values_;
  bool gives_back_;
  std::size_t behind_ = 0;  ///< elements before it were given back
  std::size_t at_ = 0;
};

}  // namespace gneiss
