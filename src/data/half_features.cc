// Converts in place: an element of 16 bits moves to half its offset, so values are read in groups before their places
// are written.
#include "data/half_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file_pages.h"
#include "data/given.h"

namespace gneiss::data {
namespace {

/// Values that are read before any of their places is written: an element moves to half its offset or stays.
constexpr std::size_t kBlock = 4096;

[[noreturn]] void fail_range(HalfType type, const std::string& name, const Features& features, std::size_t at) {
  const auto cols = static_cast<std::size_t>(features.cols);
  throw Error(ErrorCode::kBadData,
              fmt::format("feature {} of node {} is {:g}, beyond the range of {}{}", at % cols, at / cols,
                          features.dense[at], half_name(type), type == HalfType::kF16 ? " (65504)" : ""),
              name,
              type == HalfType::kF16
                  ? "use --feature-dtype bf16, which has the range of f32, or rescale with --normalize-features"
                  : "use --feature-dtype f32");
}

bool is_infinite(HalfType type, std::uint16_t half) {
  return (half & 0x7FFFU) == (type == HalfType::kBf16 ? 0x7F80U : 0x7C00U);
}

/// Position of the first finite value that would become infinite; size() if there is none.
std::size_t first_beyond(HalfType type, std::span<const float> values) {
  // All that rounds to infinity is at least as large as the largest number.
  const float largest = type == HalfType::kBf16 ? from_bf16(0x7F7F) : from_f16(0x7BFF);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::abs(values[i]) > largest && std::isfinite(values[i]) && is_infinite(type, to_half(type, values[i])))
      return i;
  }
  return values.size();
}

}  // namespace

void halve_features(HalfType type, const std::string& name, Features* features) {
  if (type == HalfType::kNone || features->empty() || features->dtype == type) return;
  if (features->sparse) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the features of '{}' are sparse; only dense ones are kept as {}", name, half_name(type)),
                "--feature-dtype", "leave it out, or keep them densely with --feature-form dense");
  }
  own_values(features);
  const std::size_t size = features->dense.size();
  const std::size_t beyond = first_beyond(type, features->dense);
  if (beyond < size) fail_range(type, name, *features, beyond);
  auto* to = reinterpret_cast<std::byte*>(features->dense.data());
  std::array<std::uint16_t, kBlock> block;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t count = std::min(kBlock, size - begin);
    const float* from = features->dense.data() + begin;
    for (std::size_t i = 0; i < count; ++i) block[i] = to_half(type, from[i]);
    std::memcpy(to + begin * sizeof(std::uint16_t), block.data(), count * sizeof(std::uint16_t));
  }
  features->halves = in_place_of<std::uint16_t>(std::move(features->dense), size);
  features->dense = {};
  features->dtype = type;
}

void widen_features(Features* features) {
  if (features->dtype == HalfType::kNone) return;
  features->dense = Buffer<float>(features->halves.size());
  for (std::size_t i = 0; i < features->halves.size(); ++i)
    features->dense[i] = from_half(features->dtype, features->halves[i]);
  features->halves = {};
  features->dtype = HalfType::kNone;
}

}  // namespace gneiss::data
