// A quick hash of bytes, eight at a time: what tells a damaged file or other data from the ones expected. It is no
// defence against somebody who means to deceive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gneiss {

/// `before`: the hash of what came before these bytes.
inline std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t before = 0xcbf29ce484222325U) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15U;
  const auto* from = static_cast<const unsigned char*>(data);
  std::uint64_t h = before ^ (bytes * kFactor);
  for (; bytes > 0;) {
    const std::size_t part = bytes < sizeof(std::uint64_t) ? bytes : sizeof(std::uint64_t);
    std::uint64_t word = 0;
    std::memcpy(&word, from, part);
    h = (h ^ word) * kFactor;
    h ^= h >> 32;
    from += part;
    bytes -= part;
  }
  return h;
}

}  // namespace gneiss
