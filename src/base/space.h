// Which memory data lie in. It is part of the type of everything that points there, so that what names memory of a
// device cannot reach code of the host, nor the other way round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace gneiss {

enum class Space : std::uint8_t { kHost, kDevice };

/// Elements in memory of a device: the host knows where they lie and how many there are, and reads none.
template <class T>
struct DeviceSpan {
  T* data = nullptr;
  std::size_t size = 0;
};

/// Elements in a row in that memory.
template <class T, Space S>
using SpanIn = std::conditional_t<S == Space::kHost, std::span<T>, DeviceSpan<T>>;

}  // namespace gneiss
