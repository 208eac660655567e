// Two 16-bit formats of real numbers: bfloat16 (8 bits of exponent, 7 of fraction) and IEEE binary16.
//
// Widening is exact. Narrowing rounds to the nearest, ties to even; what is beyond the largest number becomes infinite,
// numbers below the smallest normal one become subnormal, and NaN stays NaN (quiet, sign kept). Source: F. Giesen,
// "float->half variants" (public domain): binary16 by integer arithmetic, its subnormals by one addition.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/space.h"

namespace gneiss {

enum class HalfType : std::uint8_t { kNone, kBf16, kF16 };

/// "f32" for kNone, "bf16", "f16".
inline std::string_view half_name(HalfType type) {
  constexpr std::string_view kNames[] = {"f32", "bf16", "f16"};
  return kNames[static_cast<std::size_t>(type)];
}

/// The format called `name`; kNone for any other.
inline HalfType half_type(std::string_view name) {
  if (name == "bf16") return HalfType::kBf16;
  return name == "f16" ? HalfType::kF16 : HalfType::kNone;
}

inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

inline float from_bf16(std::uint16_t half) { return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16); }

inline std::uint16_t to_f16(float value) {
  constexpr std::uint32_t kInfinity = 255U << 23;
  constexpr std::uint32_t kBeyond = 143U << 23;         // 2^16
  constexpr std::uint32_t kNormal = 113U << 23;         // 2^-14
  constexpr std::uint32_t kSubnormalUnit = 126U << 23;  // 0.5: its last bit is the unit of subnormals, 2^-24
  auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  bits &= 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (bits >= kBeyond) {
    half = bits > kInfinity ? 0x7E00U : 0x7C00U;
  } else if (bits < kNormal) {
    const float shifted = std::bit_cast<float>(bits) + std::bit_cast<float>(kSubnormalUnit);
    half = std::bit_cast<std::uint32_t>(shifted) - kSubnormalUnit;
  } else {
    half = (bits - (112U << 23) + 0xFFFU + ((bits >> 13) & 1U)) >> 13;
  }
  return static_cast<std::uint16_t>(half | sign);
}

inline float from_f16(std::uint16_t half) {
  constexpr float kScale = 0x1p112F;  // moves the exponent's bias from 15 to 127, subnormals included
  const float scaled = std::bit_cast<float>((std::uint32_t{half} & 0x7FFFU) << 13) * kScale;
  auto bits = std::bit_cast<std::uint32_t>(scaled);
  if (scaled >= 65536.0F) bits |= 255U << 23;  // infinity and NaN
  return std::bit_cast<float>(bits | (std::uint32_t{half} & 0x8000U) << 16);
}

/// `type` is not kNone.
inline std::uint16_t to_half(HalfType type, float value) {
  return type == HalfType::kBf16 ? to_bf16(value) : to_f16(value);
}
inline float from_half(HalfType type, std::uint16_t half) {
  return type == HalfType::kBf16 ? from_bf16(half) : from_f16(half);
}

/// Elements of a matrix in a 16-bit format; shape and memory are known from where it stands. kNone: there are none.
template <class U, Space S = Space::kHost>
struct HalfElements {
  HalfType type = HalfType::kNone;
  U* data = nullptr;
  std::int64_t stride = 0;

  bool used() const { return type != HalfType::kNone; }
  U* row(std::int64_t r) const { return data + r * stride; }
  float at(std::int64_t r, std::int64_t c) const { return from_half(type, row(r)[c]); }
  operator HalfElements<const U, S>() const  // NOLINT(google-explicit-constructor)
      requires(!std::is_const_v<U>) {
    return {type, data, stride};
  }
};
using Halves = HalfElements<std::uint16_t>;
using ConstHalves = HalfElements<const std::uint16_t>;

}  // namespace gneiss
