// By libdeflate, in parts that threads take and that are combined in order.
#include "data/checksum.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "base/parallel.h"

namespace gneiss::data {

std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t before, int threads) {
  constexpr std::int64_t kPart = std::int64_t{8} << 20;
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

}  // namespace gneiss::data
