// By libdeflate, in parts that threads take and that are combined in order.
#include "data/checksum.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "base/pages.h"
#include "base/parallel.h"

namespace gneiss::data {

namespace {

constexpr std::int64_t kPart = std::int64_t{8} << 20;  ///< that a thread takes

}  // namespace

std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t before, int threads) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  std::vector<std::uint32_t> parts(static_cast<std::size_t>(num_chunks(size, kPart)));
  parallel_chunks(threads, size, kPart, [&](std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(begin / kPart)] =
        libdeflate_crc32(0, bytes.data() + begin, static_cast<std::size_t>(end - begin));
  });
  uLong crc = before;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t begin = static_cast<std::int64_t>(i) * kPart;
    crc = crc32_combine(crc, parts[i], std::min(kPart, size - begin));
  }
  return static_cast<std::uint32_t>(crc);
}

std::uint32_t checksum(const MappedFile& file, int threads) {
  const std::size_t at_once = static_cast<std::size_t>(kPart) * static_cast<std::size_t>(std::clamp(threads, 1, 8));
  const std::span<const std::byte> bytes = file.bytes();
  std::uint32_t crc = 0;
  for (std::size_t begin = 0; begin < bytes.size(); begin += at_once) {
    const std::span<const std::byte> part = bytes.subspan(begin, std::min(at_once, bytes.size() - begin));
    crc = checksum(part, crc, threads);
    give_back_tail(const_cast<std::byte*>(part.data()), 0, part.size());
  }
  return crc;
}

}  // namespace gneiss::data
