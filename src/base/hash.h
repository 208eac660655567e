// A hash of text that is the same on every machine and with every compiler.
#pragma once

#include <cstdint>
#include <string_view>

namespace gneiss {

/// FNV-1a, 64 bits.
inline std::uint64_t hash_text(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return h;
}

}  // namespace gneiss
