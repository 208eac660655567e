// CRC-32, which zip archives hold of their members and data folders of their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/file.h"

namespace gneiss::data {

/// The checksum of bytes that follow those of checksum `before`; `threads` take parts of them.
std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t before = 0, int threads = 1);

/// Of a whole file, which may be larger than the memory: its pages are given back on the way.
std::uint32_t checksum(const MappedFile& file, int threads = 1);

}  // namespace gneiss::data
