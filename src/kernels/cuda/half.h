// The 16-bit formats of base/half.h, in device code too. The same bits: a test compares all that can be widened, and
// what is narrowed over the range.
#pragma once

#include <bit>
#include <cstdint>

#include "base/half.h"
#include "kernels/cuda/device.h"

namespace gneiss::kernels::GNEISS_DEVICE {

/// `type` is not kNone.
constexpr float widen(HalfType type, std::uint16_t half) {
  if (type == HalfType::kBf16) return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
  const float scaled = std::bit_cast<float>((std::uint32_t{half} & 0x7FFFU) << 13) * 0x1p112F;
  const std::uint32_t beyond = scaled >= 65536.0F ? 255U << 23 : 0;  // infinity and NaN
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | beyond | (std::uint32_t{half} & 0x8000U) << 16);
}

constexpr std::uint16_t narrow(HalfType type, float value) {
  const auto all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t bits = all & 0x7FFFFFFFU;
  const bool is_nan = bits > 0x7F800000U;
  if (type == HalfType::kBf16) {
    return static_cast<std::uint16_t>(is_nan ? (all >> 16) | 0x40U : (all + 0x7FFFU + ((all >> 16) & 1U)) >> 16);
  }
  std::uint32_t half = 0;
  if (bits >= 143U << 23) {  // 2^16
    half = is_nan ? 0x7E00U : 0x7C00U;
  } else if (bits < 113U << 23) {  // 2^-14: adding 0.5 leaves units of 2^-24
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + 0.5F) - (126U << 23);
  } else {
    half = (bits - (112U << 23) + 0xFFFU + ((bits >> 13) & 1U)) >> 13;
  }
  return static_cast<std::uint16_t>(half | ((all >> 16) & 0x8000U));
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
